// Versioned rows hold the bytes that were written, or the caller is told why not: whatever the bytes, the
// columns and the settings of the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "holdfast/versioned.h"
#include "mariadb_server.h"
#include "postgres_server.h"
#include "temp_dir.h"

namespace holdfast {
namespace {

using test::MariadbClient;
using test::MariadbServer;
using test::PostgresServer;
using testing::ElementsAre;

std::string all_bytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

const VersionedTable kTexts{.table = "texts", .columns = {"note"}};
const VersionedTable kBytes{.table = "raw", .columns = {"note"}};

constexpr const char* kMakeTexts =
    "CREATE TABLE texts (id VARCHAR(5) PRIMARY KEY, version BIGINT NOT NULL, note VARCHAR(5))";

// Holds on every database.
void expect_bytes_to_stay(const std::string& url) {
  Versioned rows = Versioned::open(url, kBytes).value();
  std::vector<std::string> keys{all_bytes()};
  for (int i = 0; i < 256; i += 51) keys.emplace_back(1, static_cast<char>(i));
  for (const std::string& key : keys) {
    const auto made = rows.insert(key, {key});
    ASSERT_TRUE(made) << made.message();
    ASSERT_FALSE(made->conflict);
    const auto found = rows.read(key);
    ASSERT_TRUE(found) << found.message();
    ASSERT_TRUE(*found) << "it is not there under its key";
    EXPECT_THAT((*found)->values, ElementsAre(key));
    const auto written = rows.write(key, 1, {all_bytes() + key});
    ASSERT_TRUE(written) << written.message();
    EXPECT_FALSE(written->conflict);
    EXPECT_THAT(rows.read(key).value().value().values, ElementsAre(all_bytes() + key));
    EXPECT_TRUE(rows.insert(key, {"other"}).value().conflict);
  }
  // A backslash and what looks like an encoding of bytes are what they are.
  ASSERT_FALSE(rows.insert("\\x41", {"\\\\x42\\"}).value().conflict);
  EXPECT_THAT(rows.read("\\x41").value().value().values, ElementsAre("\\\\x42\\"));
}

// Texts that do not fit change nothing.
void expect_texts_to_fit(const std::string& url) {
  Versioned rows = Versioned::open(url, kTexts).value();
  ASSERT_FALSE(rows.insert("ok", {"gr\xc3\xbc\xc3\x9f"}).value().conflict);
  for (const std::string& bad : {std::string("longer"), std::string("\xff\xfe")}) {
    const auto made = rows.insert("new", {bad});
    ASSERT_FALSE(made) << "reported as written";
    EXPECT_EQ(made.code(), Code::invalid_argument) << made.message();
    EXPECT_FALSE(rows.read("new").value()) << "something was written";
    const auto written = rows.write("ok", 1, {bad});
    ASSERT_FALSE(written) << "reported as written";
    EXPECT_EQ(written.code(), Code::invalid_argument) << written.message();
    const auto keyed = rows.insert(bad, {"x"});
    EXPECT_FALSE(keyed) << "reported as written";
  }
  const Versioned::Row row = rows.read("ok").value().value();
  EXPECT_EQ(row.version, 1U);
  EXPECT_THAT(row.values, ElementsAre("gr\xc3\xbc\xc3\x9f"));
}

// A write is visible to strangers: on any connection, at once.
void expect_writes_to_last(const std::string& url) {
  {
    Versioned rows = Versioned::open(url, kTexts).value();
    const auto made = rows.insert("last", {"one"});
    ASSERT_TRUE(made) << made.message();
    const auto written = rows.write("last", 1, {"gr\xc3\xbc\xc3\x9f"});
    ASSERT_TRUE(written) << written.message();
    ASSERT_FALSE(written->conflict);
  }
  Versioned other = Versioned::open(url, kTexts).value();
  const auto row = other.read("last");
  ASSERT_TRUE(row) << row.message();
  ASSERT_TRUE(*row) << "the write is lost";
  EXPECT_THAT((*row)->values, ElementsAre("gr\xc3\xbc\xc3\x9f"));
}

// ---- MySQL -------------------------------------------------------------------------------------

void make_mysql_tables(const MariadbServer& server) {
  MariadbClient client(server.port(), "holdfast");
  client.query(std::string(kMakeTexts) + " CHARACTER SET utf8mb4");
  client.query(
      "CREATE TABLE raw (id VARBINARY(300) PRIMARY KEY, version BIGINT NOT NULL, note BLOB)");
  client.query("COMMIT");
}

TEST(VersionedBytesTest, MysqlKeepsBytesAndRefusesTextsThatDoNotFit) {
  const MariadbServer server;
  make_mysql_tables(server);
  expect_bytes_to_stay(server.url());
  expect_texts_to_fit(server.url());
  expect_writes_to_last(server.url());
}

TEST(VersionedBytesTest, MysqlTextsAreConvertedToTheColumnsCharacters) {
  const MariadbServer server;
  MariadbClient client(server.port(), "holdfast");
  client.query(std::string(kMakeTexts) + " CHARACTER SET latin1");
  Versioned rows = Versioned::open(server.url(), kTexts).value();
  ASSERT_FALSE(rows.insert("\xc3\xbc", {"gr\xc3\xbc\xc3\x9f"}).value().conflict);
  EXPECT_THAT(rows.read("\xc3\xbc").value().value().values, ElementsAre("gr\xc3\xbc\xc3\x9f"));
  EXPECT_EQ(client.value("SELECT HEX(note) FROM texts"), "6772FCDF");
  const auto snowman = rows.write("\xc3\xbc", 1, {"\xe2\x98\x83"});
  ASSERT_FALSE(snowman) << "latin1 has no snowman";
  EXPECT_EQ(snowman.code(), Code::invalid_argument) << snowman.message();
}

// All that a server can be set to that would lose or change a write.
TEST(VersionedBytesTest, MysqlSettingsOfTheServerLoseNothing) {
  for (const std::string isolation : {"READ-UNCOMMITTED", "SERIALIZABLE"}) {
    std::vector<std::string> arguments{"--autocommit=0",
                                       "--transaction-isolation=" + isolation,
                                       "--innodb-rollback-on-timeout=1",
                                       "--wait-timeout=1",
                                       "--sql-mode=",
                                       "--completion-type=2",
                                       "--character-set-server=latin1"};
    const bool mysql = test::Product::of(test::ServerKind::mysql).is("mysql");
    if (!mysql) arguments.push_back("--skip-character-set-client-handshake");
    const MariadbServer server({.arguments = arguments});
    make_mysql_tables(server);
    server.query(mysql ? "SET GLOBAL transaction_read_only = 1, GLOBAL max_execution_time = 1"
                       : "SET GLOBAL tx_read_only = 1, GLOBAL max_statement_time = 0.001");
    expect_writes_to_last(server.url());
    expect_texts_to_fit(server.url());
    expect_bytes_to_stay(server.url());
  }
}

TEST(VersionedBytesTest, MysqlADuplicateInAnotherColumnIsNoOtherVersion) {
  const MariadbServer server;
  MariadbClient client(server.port(), "holdfast");
  client.query(std::string(kMakeTexts));
  client.query("ALTER TABLE texts ADD UNIQUE (note)");
  Versioned rows = Versioned::open(server.url(), kTexts).value();
  ASSERT_FALSE(rows.insert("a", {"x"}).value().conflict);
  ASSERT_FALSE(rows.insert("b", {"y"}).value().conflict);
  EXPECT_EQ(rows.write("b", 1, {"x"}).code(), Code::invalid_argument);
  EXPECT_TRUE(rows.insert("b", {"z"}).value().conflict);
}

// ---- PostgreSQL --------------------------------------------------------------------------------

TEST(VersionedBytesTest, PostgresKeepsBytesAndRefusesTextsThatDoNotFit) {
  const PostgresServer server;
  server.query(kMakeTexts);
  server.query("CREATE TABLE raw (id bytea PRIMARY KEY, version BIGINT NOT NULL, note bytea)");
  expect_bytes_to_stay(server.url());
  expect_texts_to_fit(server.url());
  expect_writes_to_last(server.url());
}

TEST(VersionedBytesTest, PostgresJsonAndArraysAreWhatTheyWere) {
  const PostgresServer server;
  server.query(
      "CREATE TABLE kinds (id text PRIMARY KEY, version BIGINT NOT NULL, a jsonb, b int[], c json,"
      " d numeric, e char(4))");
  Versioned rows =
      Versioned::open(server.url(), {.table = "kinds", .columns = {"a", "b", "c", "d", "e"}})
          .value();
  const std::vector<Versioned::Value> values{"{\"x\": [1, null]}", "{1,2}", "{\"y\": 1}", "1.50",
                                             "ab"};
  const auto made = rows.insert("x", values);
  ASSERT_TRUE(made) << made.message();
  EXPECT_EQ(rows.read("x").value().value().values, values);
  EXPECT_FALSE(rows.write("x", 1, {"{", "{}", "{}", "1", "a"})) << "no JSON";
}

TEST(VersionedBytesTest, PostgresSettingsOfTheServerLoseNothing) {
  for (const std::string isolation : {"serializable", "read uncommitted"}) {
    const PostgresServer server;
    server.query(kMakeTexts);
    server.query("CREATE TABLE raw (id bytea PRIMARY KEY, version BIGINT NOT NULL, note bytea)");
    server.query("ALTER DATABASE postgres SET default_transaction_isolation = '" + isolation + "'");
    for (const std::string setting : {"bytea_output = 'escape'", "idle_session_timeout = 3000",
                                      "lock_timeout = 1", "client_encoding = 'LATIN1'"}) {
      server.query("ALTER DATABASE postgres SET " + setting);
    }
    expect_writes_to_last(server.url());
    expect_texts_to_fit(server.url());
    expect_bytes_to_stay(server.url());
  }
}

// ---- SQLite ------------------------------------------------------------------------------------

TEST(VersionedBytesTest, SqliteKeepsBytes) {
  const test::TempDir directory;
  const std::string file = (directory.path() / "app.db").string();
  sqlite3* raw = nullptr;
  sqlite3_open(file.c_str(), &raw);
  sqlite3_exec(raw, "CREATE TABLE raw (id BLOB PRIMARY KEY, version BIGINT NOT NULL, note BLOB)",
               nullptr, nullptr, nullptr);
  sqlite3_close(raw);
  expect_bytes_to_stay("sqlite://" + file);
}

}  // namespace
}  // namespace holdfast
