#include "engines/redis/facts.h"

#include <gmock/gmock.h>

#include "base/known_server.h"
#include "engines/redis/redis_engine.h"

namespace holdfast::internal::redis {
namespace {

using testing::HasSubstr;

struct Case {
  const char* name;
  const char* info;
  const char* appendfsync;  // null: it does not say
  const char* product;
  const char* finding;  // its id
  Severity severity;
  Exclusion exclusion;
};

const Finding* find(const Examination& found, const std::string& id) {
  for (const Finding& finding : found.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

TEST(RedisFacts, DecideWhatAServerCanGive) {
  const Case cases[] = {
      {"no log", "redis_version:7.0.15\r\naof_enabled:0\r\n", "everysec", "Redis",
       "redis-no-append-only-file", Severity::warning, Exclusion::best_effort},
      {"late log", "redis_version:7.0.15\r\naof_enabled:1\r\n", "everysec", "Redis", "redis-fsync",
       Severity::warning, Exclusion::best_effort},
      {"durable", "redis_version:7.0.15\r\naof_enabled:1\r\n", "always", "Redis",
       "redis-append-only-file", Severity::good, Exclusion::bounded_by_clocks},
      {"secretive", "redis_version:7.0.15\r\naof_enabled:1\r\n", nullptr, "Redis",
       "redis-fsync-unknown", Severity::note, Exclusion::best_effort},
      {"mute", "", nullptr, "", "redis-persistence-unknown", Severity::note,
       Exclusion::best_effort},
      {"evicting",
       "redis_version:7.0.15\r\naof_enabled:1\r\nmaxmemory:9\r\nmaxmemory_policy:allkeys-lru\r\n",
       "always", "Redis", "redis-eviction", Severity::warning, Exclusion::best_effort},
      {"a policy without a limit",
       "redis_version:7.0.15\r\naof_enabled:1\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n",
       "always", "Redis", "redis-eviction", Severity::good, Exclusion::bounded_by_clocks},
      {"valkey",
       "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\naof_enabled:1\r\n",
       "always", "Valkey", "redis-append-only-file", Severity::good, Exclusion::bounded_by_clocks},
      {"old", "redis_version:4.0.9\r\naof_enabled:1\r\n", "always", "Redis", "redis-too-old",
       Severity::unfit, Exclusion::best_effort},
      {"keydb masters",
       "redis_version:6.3.4\r\nexecutable:/usr/bin/keydb-server\r\nrole:active-replica\r\n",
       "always", "KeyDB", "redis-active-replica", Severity::unfit, Exclusion::best_effort},
      {"replica",
       "redis_version:7.0.15\r\nrole:slave\r\nmaster_host:a\r\nmaster_port:1\r\naof_enabled:1\r\n",
       "always", "Redis", "redis-replica", Severity::warning, Exclusion::bounded_by_clocks},
  };
  for (const Case& each : cases) {
    Facts facts{.server = "here:1", .info = each.info};
    if (each.appendfsync) facts.appendfsync = each.appendfsync;
    const Examination found = examined(facts);
    EXPECT_EQ(found.product, each.product) << each.name;
    const Finding* finding = find(found, each.finding);
    ASSERT_NE(finding, nullptr) << each.name;
    EXPECT_EQ(finding->severity, each.severity) << each.name;
    EXPECT_EQ(lowered(redis_guarantees(), found.findings).exclusion, each.exclusion) << each.name;
    EXPECT_EQ(fit(found).ok(), each.severity != Severity::unfit) << each.name;
  }
}

TEST(RedisFacts, AProxyWithoutScriptsOrChannelsIsUnfit) {
  for (const char* error : {"ERR unknown command 'eval'", "ERR unsupported command 'EVAL'"}) {
    const Result<void> verdict = fit(examined({.server = "here:1", .script_error = error}));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.code(), Code::misconfigured);
    EXPECT_THAT(verdict.message(), HasSubstr("connect to the Redis server itself"));
    EXPECT_FALSE(fit(examined({.server = "here:1", .channel_error = error})));
  }
  // Not a word about what it can do: it is busy, or this user may not.
  for (const char* error : {"LOADING Redis is loading", "BUSY a script", "NOPERM no permissions"}) {
    EXPECT_TRUE(fit(examined({.server = "here:1", .script_error = error}))) << error;
  }
}

TEST(RedisFacts, FieldsAreFoundByTheirWholeName) {
  EXPECT_EQ(info_field("a:1\r\nmaxmemory_policy:x\r\nmaxmemory:7\r\n", "maxmemory"), "7");
  EXPECT_EQ(info_field("role:master", "role"), "master");
  EXPECT_EQ(info_field("xrole:master", "role"), "");
  EXPECT_EQ(info_field("", "role"), "");
}

}  // namespace
}  // namespace holdfast::internal::redis
