// The optimistic lock: no update is lost, and a conflict is a value.
#include "holdfast/versioned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <thread>

#include "mariadb_server.h"
#include "postgres_server.h"
#include "temp_dir.h"

namespace holdfast {
namespace {

using test::MariadbServer;
using test::PostgresServer;

constexpr const char* kMake =
    "CREATE TABLE account (id VARCHAR(100) PRIMARY KEY, version BIGINT NOT NULL, "
    "balance BIGINT, note VARCHAR(200))";

// A database with an empty table, and its URL.
struct Place {
  virtual ~Place() = default;
  virtual std::string url() const = 0;
};

struct MysqlPlace final : Place {
  MysqlPlace() {
    server().query("DROP TABLE IF EXISTS holdfast.account");
    test::MariadbClient(server().port(), "holdfast").query(kMake);
  }
  static MariadbServer& server() {
    static MariadbServer shared;
    return shared;
  }
  std::string url() const override { return server().url(); }
};

struct PostgresPlace final : Place {
  PostgresPlace() { server().query(std::string("DROP TABLE IF EXISTS account; ") + kMake); }
  static PostgresServer& server() {
    static PostgresServer shared;
    return shared;
  }
  std::string url() const override { return server().url(); }
};

struct SqlitePlace final : Place {
  SqlitePlace() {
    sqlite3* raw = nullptr;
    sqlite3_open(file().c_str(), &raw);
    sqlite3_exec(raw, kMake, nullptr, nullptr, nullptr);
    sqlite3_close(raw);
  }
  std::string file() const { return (directory.path() / "app.db").string(); }
  std::string url() const override { return "sqlite://" + file(); }
  test::TempDir directory;
};

class VersionedTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "mysql") place = std::make_unique<MysqlPlace>();
    if (GetParam() == "postgres") place = std::make_unique<PostgresPlace>();
    if (GetParam() == "sqlite") place = std::make_unique<SqlitePlace>();
  }
  Versioned open() const {
    return Versioned::open(place->url(), {.table = "account", .columns = {"balance", "note"}})
        .value();
  }
  std::unique_ptr<Place> place;
};
INSTANTIATE_TEST_SUITE_P(Databases, VersionedTest, testing::Values("mysql", "postgres", "sqlite"),
                         [](const auto& name) { return name.param; });

TEST_P(VersionedTest, WhatIsWrittenIsReadWithAHigherVersion) {
  Versioned rows = open();
  EXPECT_FALSE(rows.read("alice").value());
  const Versioned::Written made = rows.insert("alice", {"10", std::nullopt}).value();
  EXPECT_FALSE(made.conflict);
  const Versioned::Row first = rows.read("alice").value().value();
  EXPECT_EQ(first.version, made.version);
  EXPECT_THAT(first.values, testing::ElementsAre("10", std::nullopt));
  const auto written = rows.write("alice", first.version, {"-20", "it's \"odd\" \\ ?"}).value();
  EXPECT_FALSE(written.conflict);
  const Versioned::Row second = rows.read("alice").value().value();
  EXPECT_GT(second.version, first.version);
  EXPECT_EQ(second.version, written.version);
  EXPECT_THAT(second.values, testing::ElementsAre("-20", "it's \"odd\" \\ ?"));
}

TEST_P(VersionedTest, AWriteAfterSomebodyElsesIsAConflictAndChangesNothing) {
  Versioned one = open();
  Versioned two = open();
  ASSERT_FALSE(one.insert("bob", {"1", "a"}).value().conflict);
  const Versioned::Row seen = one.read("bob").value().value();
  ASSERT_FALSE(two.write("bob", seen.version, {"2", "b"}).value().conflict);
  const Versioned::Written late = one.write("bob", seen.version, {"3", "c"}).value();
  EXPECT_TRUE(late.conflict);
  EXPECT_THAT(one.read("bob").value().value().values, testing::ElementsAre("2", "b"));
}

TEST_P(VersionedTest, ARowThatIsThereOrGoneIsAConflictToo) {
  Versioned rows = open();
  ASSERT_FALSE(rows.insert("carol", {"1", "a"}).value().conflict);
  EXPECT_TRUE(rows.insert("carol", {"2", "b"}).value().conflict);
  EXPECT_TRUE(rows.write("nobody", 1, {"2", "b"}).value().conflict);
  EXPECT_THAT(rows.read("carol").value().value().values, testing::ElementsAre("1", "a"));
}

TEST_P(VersionedTest, NoUpdateOfManyIsLost) {
  ASSERT_FALSE(open().insert("sum", {"0", "x"}).value().conflict);
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      Versioned rows = open();
      for (int round = 0; round < kRounds; ++round) {
        const auto done = rows.update("sum",
                                      [](std::vector<Versioned::Value>& values) {
                                        values[0] = std::to_string(std::stol(*values[0]) + 1);
                                      },
                                      {.attempts = 10'000});
        ASSERT_TRUE(done) << done.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*open().read("sum").value().value().values[0], std::to_string(kThreads * kRounds));
}

TEST_P(VersionedTest, MistakesAreNamed) {
  Versioned rows = open();
  EXPECT_EQ(rows.write("x", 1, {"1"}).code(), Code::invalid_argument);
  const auto no_row = rows.update("nobody", [](std::vector<Versioned::Value>&) {});
  EXPECT_EQ(no_row.code(), Code::not_held);
  Versioned wrong =
      Versioned::open(place->url(), {.table = "missing", .columns = {"balance"}}).value();
  EXPECT_FALSE(wrong.read("x"));
}

TEST(VersionedUrlTest, OtherStoresAreRefused) {
  const auto redis = Versioned::open("redis://localhost", {.table = "t", .columns = {"c"}});
  ASSERT_FALSE(redis);
  EXPECT_EQ(redis.code(), Code::invalid_argument);
  EXPECT_FALSE(Versioned::open("sqlite:///x", {.table = "t"}));
}

}  // namespace
}  // namespace holdfast
