#include "engines/postgres/facts.h"

#include <gmock/gmock.h>

#include "base/known_server.h"

namespace holdfast::internal::postgres {
namespace {

struct Case {
  const char* version;
  const char* recipe;
  const char* product;
  bool fit;
};

TEST(PostgresFacts, TellProductsThatDoNotKeepThePromise) {
  const Case cases[] = {
      {"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64", "advisory", "PostgreSQL 15.18", true},
      {"CockroachDB CCL v24.1.0 (x86_64)", "advisory", "CockroachDB 24.1.0", false},
      {"CockroachDB CCL v24.1.0 (x86_64)", "row", "CockroachDB 24.1.0", false},
      {"CockroachDB CCL v24.1.0 (x86_64)", "table", "CockroachDB 24.1.0", false},
      {"PostgreSQL 11.2-YB-2.20.3.1-b0 on x86_64", "advisory", "YugabyteDB 2.20.3.1", false},
      {"PostgreSQL 15.12-YB-2025.1.0.0-b168 on x", "advisory", "YugabyteDB 2025.1.0.0", true},
      {"PostgreSQL 15.12-YB-2025.1.0.0-b168 on x", "table", "YugabyteDB 2025.1.0.0", false},
      {"PostgreSQL 15.12-YB-2025.2.3.0-b1 on x", "table", "YugabyteDB 2025.2.3.0", true},
  };
  for (const Case& each : cases) {
    const Examination found =
        examined({.recipe = each.recipe, .server = "h:1", .version = each.version});
    EXPECT_EQ(found.product + " " + found.version, each.product);
    EXPECT_EQ(fit(found).ok(), each.fit) << each.version << ' ' << each.recipe;
  }
}

TEST(PostgresFacts, AProxyThatPoolsTransactionsIsUnfitAndOneThatPoolsSessionsIsNot) {
  Facts facts{.recipe = "row", .server = "h:1", .version = "PostgreSQL 15.1 on x"};
  facts.behind_proxy = true;
  EXPECT_TRUE(fit(examined(facts)));
  facts.pools_transactions = true;
  EXPECT_FALSE(fit(examined(facts)));
  facts.pooled = true;
  EXPECT_TRUE(fit(examined(facts)));
}

TEST(PostgresFacts, AnAnswerThatEndsEarlyStillNamesTheProduct) {
  SqlRows version;
  version.rows = {{"CockroachDB CCL v24.1.0"}};
  const Facts facts = facts_from({version}, "table", "h:1");
  EXPECT_EQ(examined(facts).product, "CockroachDB");
  EXPECT_EQ(facts_from({}, "table", "h:1").version, "");
}

}  // namespace
}  // namespace holdfast::internal::postgres
