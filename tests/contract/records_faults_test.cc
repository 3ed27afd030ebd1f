// Records through networks that lose replies, servers that restart, and servers that are full.
#include <atomic>

#include "behind.h"
#include "etcd_server.h"
#include "mariadb_server.h"
#include "postgres_server.h"
#include "proxy.h"
#include "records.h"
#include "redis_replication.h"
#include "redis_server.h"
#include "rights.h"
#include "zookeeper_server.h"

namespace holdfast::contract {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// ---- Lost replies ------------------------------------------------------------------------------

// Asks again while nobody knows, as a caller does.
Result<bool> swap_until_known(Records& records, const Value& expected, const std::string& value) {
  const BootTime limit = BootClock::now() + kPatience;
  for (;;) {
    Result<bool> swapped = records.swap("x", expected, value);
    const bool may_pass =
        !swapped && (swapped.code() == Code::unknown || swapped.code() == Code::unreachable);
    if (!may_pass || BootClock::now() > limit) return swapped;
  }
}

// One after the other, for some seconds: replies that never come, and connections that end.
void tear(Behind& behind, const std::stop_token& stop, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  while (!stop.stop_requested()) {
    behind.each([&](test::Proxy& proxy) {
      switch (random() % 3) {
        case 0: proxy.set(test::Direction::to_client, test::ProxyMode::drop); break;
        case 1: proxy.set(test::Direction::to_server, test::ProxyMode::hold); break;
        default: proxy.reset(); break;
      }
    });
    pause_for(std::chrono::milliseconds(random() % 150));
    behind.each([](test::Proxy& proxy) {
      proxy.set_both(test::ProxyMode::pass);
      proxy.reset();
    });
    pause_for(std::chrono::milliseconds(200 + random() % 300));
  }
}

// Each swap whose reply was lost is asked again. Nobody else writes: so each must end in `true`, and the last value
// tells how many there were.
std::string count_through_a_torn_network(Behind& behind, std::uint64_t seed,
                                         std::atomic<int>& repeated) {
  Records direct(behind.direct_url());
  if (!direct.client().guarantees().records) return "";
  Records torn(behind.url(), 500ms);
  std::jthread tearing([&](const std::stop_token& stop) { tear(behind, stop, seed); });
  Value before;
  int count = 0;
  for (const BootTime end = BootClock::now() + 5s; BootClock::now() < end;) {
    const std::string next = std::to_string(count + 1);
    Result<bool> swapped = torn.swap("x", before, next);
    if (!swapped) {
      ++repeated;
      swapped = swap_until_known(torn, before, next);
    }
    if (said(swapped) != "true") return said(swapped) + " after " + std::to_string(count);
    ++count;
    before = next;
  }
  tearing.request_stop();
  tearing.join();
  const std::string found = said(direct.read("x"));
  return found == "'" + std::to_string(count) + "'"
             ? ""
             : found + ", but " + std::to_string(count) + " were stored";
}

TEST(RecordsFaults, SwapsWhoseRepliesAreLostAreAskedAgainAndCountOnce) {
  Dice dice;
  SCOPED_TRACE(dice.describe());
  const std::uint64_t seed = dice.below(1'000'000);
  std::atomic<int> repeated = 0;
  EXPECT_THAT(on_all_behind([&](Behind& behind) {
                return count_through_a_torn_network(behind, seed, repeated);
              }),
              IsEmpty());
  EXPECT_GT(repeated, 0) << "no reply was lost: the test has shown nothing";
}

// The request is executed, and no reply comes: neither "stored" nor "not stored" may be said of it.
std::string keep_replies_back(Behind& behind) {
  Records direct(behind.direct_url());
  if (!direct.client().guarantees().records) return "";
  Records torn(behind.url(), 1s);
  if (const auto first = swap_until_known(torn, std::nullopt, "1"); said(first) != "true") {
    return "at first " + said(first);
  }
  behind.each(
      [](test::Proxy& proxy) { proxy.set(test::Direction::to_client, test::ProxyMode::drop); });
  const std::string swapped = outcome_of(torn.swap("x", "1", "2"));
  const std::string read = outcome_of(torn.read("x"));
  behind.each([](test::Proxy& proxy) {
    proxy.set_both(test::ProxyMode::pass);
    proxy.reset();
  });
  if (read != "unreachable") return "a read was " + read;
  // ZooKeeper's reads first.
  if (swapped != "unknown" && !(swapped == "unreachable" && behind.name() == "zookeeper")) {
    return "a swap was " + swapped;
  }
  if (swapped == "unreachable" && said(direct.read("x")) != "'1'") return "it was stored after all";
  const Result<bool> again = swap_until_known(torn, "1", "2");
  if (said(again) != "true") return "the same again was " + said(again);
  const std::string found = said(direct.read("x"));
  return found == "'2'" ? "" : "there is " + found;
}

TEST(RecordsFaults, ASwapWithoutAReplyIsUnknownAndAReadUnreachable) {
  EXPECT_THAT(on_all_behind(keep_replies_back), IsEmpty());
}

// ZooKeeper compares versions, which begin anew with a new node: see engines/zookeeper/records.h.
TEST(RecordsFaults, OneThatWasRemovedAndStoredAnewMeanwhileIsNotTakenForTheOldOne) {
  test::ZooKeeperServer server;
  test::Proxy proxy(server.port());
  Records direct(server.url());
  Records slow("zookeeper://127.0.0.1:" + std::to_string(proxy.port()));
  ASSERT_EQ(said(slow.swap("x", std::nullopt, "1")), "true");
  proxy.set(test::Direction::to_client, test::ProxyMode::hold);
  const std::int64_t before = proxy.received(test::Direction::to_client);
  auto swapping = std::async(std::launch::async, [&] { return slow.swap("x", "1", "3"); });
  ASSERT_TRUE(eventually([&] { return proxy.received(test::Direction::to_client) > before; }));
  pause_for(300ms);  // It may have been the answer to a ping.
  EXPECT_FALSE(is_ready(swapping));
  EXPECT_EQ(said(direct.swap("x", "1", std::nullopt)), "true");
  EXPECT_EQ(said(direct.swap("x", std::nullopt, "2")), "true");
  proxy.set(test::Direction::to_client, test::ProxyMode::pass);
  EXPECT_EQ(said(swapping.get()), "false");
  EXPECT_EQ(said(direct.read("x")), "'2'");
}

// ---- Servers that restart ----------------------------------------------------------------------

void expect_kept(const std::string& url, const std::function<void()>& restart) {
  {
    Records records(url);
    ASSERT_EQ(said(swap_until_known(records, std::nullopt, "1")), "true");
    ASSERT_EQ(said(records.swap("gone", std::nullopt, "1")), "true");
    ASSERT_EQ(said(records.swap("gone", "1", std::nullopt)), "true");
  }
  restart();
  Records records(url);
  ASSERT_TRUE(eventually([&] { return records.read("x").ok(); }));
  EXPECT_EQ(said(records.read("x")), "'1'");
  EXPECT_EQ(said(records.read("gone")), "none");
  EXPECT_EQ(said(swap_until_known(records, "1", "2")), "true");
}

TEST(RecordsRestart, PostgresKeepsThem) {
  test::PostgresServer server;
  expect_kept(server.url(), [&] { server.restart(); });
}

TEST(RecordsRestart, MysqlKeepsThem) {
  test::MariadbServer server;
  expect_kept(server.url(), [&] { server.restart(); });
}

TEST(RecordsRestart, EtcdKeepsThem) {
  test::EtcdServer server;
  expect_kept(server.url(), [&] { server.restart(); });
}

TEST(RecordsRestart, ZooKeeperKeepsThem) {
  test::ZooKeeperServer server;
  expect_kept(server.url(), [&] { server.restart(); });
}

TEST(RecordsRestart, RedisKeepsThemIfItIsDurable) {
  test::RedisServer server({.durable = true});
  expect_kept(server.url(), [&] { server.restart(); });
}

// Records go to the server that can be written, and follow it.
TEST(RecordsPair, OfPostgresFollowTheOneThatIsPromoted) {
  test::PostgresServer primary(
      {.arguments = {"-c", "wal_level=replica", "-c", "max_wal_senders=4"}});
  test::PostgresServer standby({.follows = primary.port()});
  Records records("postgres://postgres@127.0.0.1:" + std::to_string(standby.port()) +
                  ",127.0.0.1:" + std::to_string(primary.port()) + "/postgres");
  ASSERT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  const std::string end = primary.query("SELECT pg_current_wal_lsn()");
  ASSERT_TRUE(eventually(
      [&] { return standby.query("SELECT pg_last_wal_replay_lsn() >= '" + end + "'") == "t"; }));
  primary.kill();
  standby.promote();
  EXPECT_EQ(said(swap_until_known(records, "1", "2")), "true");
  EXPECT_EQ(standby.query("SELECT convert_from(value, 'UTF8') FROM holdfast_record"), "2");
}

// ---- Tables that are not there -----------------------------------------------------------------

// Where a table is missing that somebody else makes, reading tells that there is nothing, and storing what to do.
void expect_told_of_the_missing_table(const std::string& url) {
  Records records(url);
  EXPECT_EQ(said(records.read("x")), "none");
  EXPECT_TRUE(records.list().value().empty());
  const Result<bool> swapped = records.swap("x", std::nullopt, "1");
  EXPECT_EQ(outcome_of(swapped), "misconfigured");
  EXPECT_THAT(swapped.message(), HasSubstr("holdfast schema --on URL"));
}

TEST(RecordsTable, OfPostgresIsMadeBesideTablesOfAnOlderVersion) {
  test::PostgresServer server;
  ASSERT_EQ(outcome_of(Client::open(server.url()).value().mutex("x").try_acquire()), "granted");
  server.query("DROP TABLE holdfast_record");
  expect_told_of_the_missing_table(with_option(server.url(), "create_schema=no"));
  EXPECT_EQ(server.query("SELECT to_regclass('holdfast_record') IS NULL"), "t");
  EXPECT_EQ(said(Records(server.url()).swap("x", std::nullopt, "1")), "true");
}

TEST(RecordsTable, OfMysqlIsMadeBesideTablesOfAnOlderVersion) {
  test::MariadbServer server;
  ASSERT_EQ(outcome_of(Client::open(server.url()).value().mutex("x").try_acquire()), "granted");
  server.query("DROP TABLE holdfast.holdfast_record");
  expect_told_of_the_missing_table(server.url("create_schema=no"));
  EXPECT_EQ(said(Records(server.url()).swap("x", std::nullopt, "1")), "true");
}

// ---- Redis -------------------------------------------------------------------------------------

TEST(RedisRecords, AFullServerRefusesOneAndSaysSo) {
  test::RedisServer server;
  Records records(server.url());
  ASSERT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  ASSERT_EQ(server.command({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  const Result<bool> swapped = records.swap("x", "1", "2");
  EXPECT_EQ(outcome_of(swapped), "unreachable");
  EXPECT_THAT(swapped.message(), HasSubstr("out of memory"));
  EXPECT_EQ(said(records.read("x")), "'1'");
  ASSERT_EQ(server.command({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  EXPECT_EQ(said(records.swap("x", "1", "2")), "true");
}

TEST(RedisRecords, HaveNoTtlAndOutliveFlushedScripts) {
  test::RedisServer server;
  Records records(server.url());
  ASSERT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  EXPECT_EQ(server.command({"PTTL", "{x}:hf:d"}), "-1");
  ASSERT_EQ(server.command({"SCRIPT", "FLUSH"}), "OK");
  EXPECT_EQ(said(records.read("x")), "'1'");
  EXPECT_EQ(said(records.swap("x", "1", "2")), "true");
}

TEST(RedisRecords, AKeyOfAnotherTypeIsNamed) {
  test::RedisServer server;
  server.command({"LPUSH", "{x}:hf:d", "a"});
  Records records(server.url());
  EXPECT_THAT(said(records.read("x")), HasSubstr("a key of another type"));
  EXPECT_THAT(said(records.swap("x", std::nullopt, "1")), HasSubstr("a key of another type"));
  EXPECT_TRUE(records.list().ok());
}

// A value that too few replicas have may be forgotten: it is not said to be stored until they have it, also when it is
// asked for once more.
TEST(RedisRecords, ReplicasThatMustConfirmDoSoOrTheOutcomeIsUnknown) {
  test::RedisWithSentinels servers;
  const std::string url = servers.url() + "?wait_replicas=1&command_timeout_ms=1000";
  Records records(url);
  ASSERT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  ASSERT_EQ(said(records.swap("y", std::nullopt, "1")), "true");
  test::RedisServer& replica = servers.server(1 - servers.master());
  replica.pause();
  Records others(url);  // on a connection that has written nothing yet
  for (Records* each : {&records, &others}) {
    EXPECT_EQ(outcome_of(each->swap("x", "1", "2")), "unknown");
    EXPECT_EQ(outcome_of(each->swap("y", "1", std::nullopt)), "unknown");
  }
  replica.resume();
  EXPECT_EQ(said(swap_until_known(records, "1", "2")), "true");
  EXPECT_EQ(said(records.swap("y", "1", std::nullopt)), "true");
  servers.failover();
  servers.wait_until_ready();
  Records after(servers.url());
  EXPECT_EQ(said(after.read("x")), "'2'");
  EXPECT_EQ(said(after.read("y")), "none");
}

}  // namespace
}  // namespace holdfast::contract
