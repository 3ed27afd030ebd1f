// holdfast doctor: what it prints, and with which status it ends.
#include "cli_fixture.h"
#include "postgres_server.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

using DoctorTest = CliTest;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(DoctorTest, AGoodServerEndsWithStatusZero) {
  const Output output = run({"doctor"});
  EXPECT_EQ(output.status, 0) << output.out << output.err;
  EXPECT_TRUE(has(output.out, "SQLite 3.")) << output.out;
  EXPECT_TRUE(has(output.out, "exclusion linearizable")) << output.out;
}

TEST_F(DoctorTest, WarningsEndWithStatusOneAndSayWhatMendsThem) {
  RedisServer server;
  const Output output = run_bare({"doctor", server.url()});
  EXPECT_EQ(output.status, 1) << output.out << output.err;
  EXPECT_TRUE(has(output.out, "warning  it keeps no log of its writes")) << output.out;
  EXPECT_TRUE(has(output.out, "mend: redis-cli CONFIG SET appendonly yes")) << output.out;
  EXPECT_EQ(output.err, "");
}

TEST_F(DoctorTest, AnUnfitServerEndsWithStatus78) {
  RedisServer server({.arguments = {"--rename-command", "EVAL", ""}});
  const Output output = run_bare({"doctor", server.url()});
  EXPECT_EQ(output.status, 78) << output.out << output.err;
  EXPECT_TRUE(has(output.out, "unfit    it runs no Lua scripts")) << output.out;
  EXPECT_EQ(run_bare({"--on", server.url(), "run", "x", "--", "true"}).status, 78);
}

TEST_F(DoctorTest, AServerThatIsNotThereEndsWithStatus69) {
  EXPECT_EQ(run_bare({"doctor", "redis://127.0.0.1:1"}).status, 69);
}

TEST_F(DoctorTest, SpeaksJson) {
  RedisServer server;
  const Output output = run_bare({"--json", "doctor", server.url()});
  EXPECT_EQ(output.status, 1);
  const auto found = nlohmann::json::parse(output.out);
  EXPECT_EQ(found["verdict"], "warning");
  EXPECT_EQ(found["exclusion"], "best effort");
  EXPECT_EQ(found["settings"]["aof_enabled"], "0");
  EXPECT_LT(found["clock_error_ms"], 2000);
  bool mends = false;
  for (const auto& finding : found["findings"]) {
    mends = mends || (finding["id"] == "redis-no-append-only-file" && finding["mend"] != "");
  }
  EXPECT_TRUE(mends) << output.out;
}

TEST_F(DoctorTest, TheUrlIsGivenOnceAndItsPasswordIsNotShown) {
  EXPECT_EQ(run({"doctor", "redis://127.0.0.1:1"}).status, 64);
  const Output output = run_bare({"doctor", "redis://:sesame@127.0.0.1:1"});
  EXPECT_FALSE(has(output.out + output.err, "sesame")) << output.err;
}

// The server's words are a stranger's.
TEST_F(DoctorTest, WhatTheServerSaysReachesTheTerminalPrintable) {
  PostgresServer server;
  server.query("CREATE SCHEMA a");
  server.query(
      "CREATE FUNCTION a.version() RETURNS text LANGUAGE sql AS $$ SELECT "
      "E'\\x1b]0;owned\\x07 <b>evil'::text $$");
  server.query("ALTER DATABASE postgres SET search_path = a, pg_catalog, public");
  const Output output = run_bare({"doctor", server.url()});
  EXPECT_EQ(output.status, 1) << output.err;
  EXPECT_TRUE(has(output.out, "evil"));
  EXPECT_FALSE(has(output.out, "\x1b")) << "it reached the terminal";
}

}  // namespace
}  // namespace holdfast::test
