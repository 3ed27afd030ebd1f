#include "redis_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <thread>

#include "certificates.h"

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// redis-cli: a TLS client that is not ours.
std::string redis_cli(const RedisServer& server, std::vector<std::string> words) {
  const Product& product = server.product();
  std::vector<std::string> command{product.program(product.name() + "-cli"), "-p",
                                   std::to_string(server.port())};
  command.insert(command.end(), words.begin(), words.end());
  const TempDir directory;
  ServerProcess client(command, directory.path() / "log");
  client.wait();
  return client.log();
}

TEST(RedisServerTest, AnswersWhenConstructed) {
  RedisServer server;
  EXPECT_EQ(server.command({"PING"}), "PONG");
  EXPECT_EQ(server.url(), "redis://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(server.unix_path(), "");
  EXPECT_EQ(redis_cli(server, {"ECHO", "hello"}), "hello\n");
}

TEST(RedisServerTest, ShowsRepliesAsText) {
  RedisServer server;
  EXPECT_EQ(server.command({"SET", "a", "one"}), "OK");
  EXPECT_EQ(server.command({"GET", "a"}), "one");
  EXPECT_EQ(server.command({"GET", "none"}), "");
  EXPECT_EQ(server.command({"STRLEN", "a"}), "3");
  EXPECT_EQ(server.command({"MGET", "a", "none", "a"}), "one\n\none");
  EXPECT_EQ(server.command({"EVAL", "return {1,{2,3}}", "0"}), "1\n2\n3");
  EXPECT_THAT(server.command({"NOSUCH"}), StartsWith("ERR: ERR unknown command"));
}

TEST(RedisServerTest, PasswordIsInTheUrlAndAsked) {
  RedisServer server({.password = "secret"});
  EXPECT_EQ(server.url(), "redis://:secret@127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(server.command({"PING"}), "PONG");
  EXPECT_THAT(redis_cli(server, {"PING"}), HasSubstr("NOAUTH"));
}

TEST(RedisServerTest, ListensOnAUnixSocket) {
  RedisServer server({.unix_socket = true});
  EXPECT_EQ(redis_cli(server, {"-s", server.unix_path(), "PING"}), "PONG\n");
}

TEST(RedisServerTest, TlsIsVerifiedAgainstItsAuthority) {
  RedisServer server({.tls = true, .password = "secret"});
  const Certificates& certificates = Certificates::shared();
  EXPECT_EQ(server.url(), "rediss://:secret@127.0.0.1:" + std::to_string(server.port()) +
                              "?ca=" + certificates.ca());
  EXPECT_EQ(server.command({"PING"}), "PONG");
  EXPECT_NE(server.port(), server.plain_port());
  const std::vector<std::string> words{"--no-auth-warning", "-a", "secret", "--tls", "--cacert"};
  const auto ping = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    more.emplace_back("PING");
    return redis_cli(server, more);
  };
  EXPECT_EQ(ping({certificates.ca()}), "PONG\n");
  EXPECT_EQ(ping({certificates.ca(), "--cert", certificates.client_certificate(), "--key",
                  certificates.client_key()}),
            "PONG\n");
  EXPECT_THAT(ping({certificates.other_ca()}), HasSubstr("certificate verify failed"));
}

TEST(RedisServerTest, DurableDataSurviveAKill) {
  RedisServer server({.durable = true});
  const pid_t pid = server.pid();
  const int port = server.port();
  server.command({"SET", "a", "one"});
  server.kill();
  EXPECT_THROW(server.command({"PING"}), std::runtime_error);
  server.restart();
  EXPECT_EQ(server.command({"GET", "a"}), "one");
  EXPECT_NE(server.pid(), pid);
  EXPECT_EQ(server.port(), port);
}

TEST(RedisServerTest, OtherDataDoNot) {
  RedisServer server;
  server.command({"SET", "a", "one"});
  server.restart();
  EXPECT_EQ(server.command({"GET", "a"}), "");
}

TEST(RedisServerTest, PausedItDoesNotAnswer) {
  RedisServer server;
  server.pause();
  const auto ping = [&] {
    RedisConnection(server.plain_port(), "", std::chrono::milliseconds(50)).command({"PING"});
  };
  EXPECT_THROW(ping(), std::runtime_error);
  server.resume();
  EXPECT_NO_THROW(ping());
}

TEST(RedisServerTest, ExtraArgumentsWin) {
  RedisServer server({.arguments = {"--appendonly", "yes", "--maxclients", "77"}});
  EXPECT_EQ(server.command({"CONFIG", "GET", "maxclients"}), "maxclients\n77");
  EXPECT_EQ(server.command({"CONFIG", "GET", "appendonly"}), "appendonly\nyes");
}

TEST(RedisServerTest, WrongArgumentsShowTheLog) {
  try {
    const RedisServer server({.arguments = {"--no-such-thing", "1"}});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no-such-thing"));
  }
}

TEST(RedisServerTest, CountsWhatClientsSentAndNothingElse) {
  RedisServer server;
  EXPECT_EQ(server.commands_sent(), 0);
  RedisConnection client(server.plain_port());
  EXPECT_EQ(client.command({"EVAL", "for i=1,10 do redis.call('SET','a',i) end return 1", "0"}),
            "1");
  EXPECT_EQ(server.commands_sent(), 1);
  EXPECT_THAT(client.command({"EVALSHA", "unknown", "0"}), HasSubstr("NOSCRIPT"));
  EXPECT_EQ(server.commands_sent(), 2);
  for (const char* word : {"MULTI", "PING", "EXEC"}) client.command({word});
  server.command({"SET", "own", "1"});
  EXPECT_EQ(server.commands_sent(), 5);
  EXPECT_EQ(server.commands_sent(), 5);
}

TEST(RedisServerTest, CountsWithPasswordAndAcrossARestart) {
  RedisServer server({.password = "secret"});
  EXPECT_EQ(server.commands_sent(), 0);
  EXPECT_EQ(RedisConnection(server.plain_port(), "secret").command({"PING"}), "PONG");
  EXPECT_EQ(server.commands_sent(), 2);  // AUTH, PING
  server.restart();
  EXPECT_EQ(RedisConnection(server.plain_port(), "secret").command({"PING"}), "PONG");
  EXPECT_EQ(server.commands_sent(), 4);
}

TEST(RedisServerTest, CountsManyThatNobodyReadsMeanwhile) {
  RedisServer server;
  EXPECT_EQ(server.commands_sent(), 0);
  RedisConnection client(server.plain_port());
  const std::string long_word(2000, 'x');
  for (int i = 0; i < 2000; ++i) client.command({"SET", "a", long_word});
  EXPECT_EQ(server.commands_sent(), 2000);
}

TEST(RedisServerTest, AThreadMayRestartItAndEnd) {
  RedisServer server;
  std::thread([&] { server.restart(); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(server.command({"PING"}), "PONG");
}

}  // namespace
}  // namespace holdfast::test
