#include "engines/mysql/facts.h"

#include <gmock/gmock.h>

#include "base/known_server.h"
#include "engines/mysql/mysql_engine.h"

namespace holdfast::internal::mysql {
namespace {

using Variables = std::map<std::string, std::string>;

const Variables kGalera{{"version", "10.11.6-MariaDB"},
                        {"wsrep_on", "ON"},
                        {"wsrep_provider", "/usr/lib/galera/libgalera_smm.so"}};

TEST(MysqlFacts, NameTheProduct) {
  const std::pair<Variables, std::string> cases[] = {
      {{{"version", "10.11.6-MariaDB-0+deb12u1"}}, "MariaDB 10.11.6"},
      {{{"version", "9.7.4"}, {"version_comment", "(Debian)"}}, "MySQL 9.7.4"},
      {{{"version", "8.0.36-28"}, {"version_comment", "Percona Server (GPL)"}},
       "Percona Server 8.0.36"},
      {{{"version", "8.0.11-TiDB-v7.5.1"}}, "TiDB 7.5.1"},
      {{{"version", "8.0.30-Vitess"}}, "Vitess 8.0.30"},
      {kGalera, "MariaDB with Galera 10.11.6"},
      {{{"version", "10.11.6-MariaDB"}, {"wsrep_on", "OFF"}, {"wsrep_provider", "none"}},
       "MariaDB 10.11.6"},
      {{}, " "},
  };
  for (const auto& [variables, name] : cases) {
    const Examination found = examined({.server = "h:1", .variables = variables});
    EXPECT_EQ(found.product + " " + found.version, name);
  }
}

TEST(MysqlFacts, RefuseTheRecipesThatGaleraBreaks) {
  EXPECT_FALSE(fit(examined({.recipe = RecipeName::named, .server = "h:1", .variables = kGalera})));
  EXPECT_FALSE(fit(examined({.recipe = RecipeName::row, .server = "h:1", .variables = kGalera})));
  EXPECT_TRUE(fit(examined({.recipe = RecipeName::table, .server = "h:1", .variables = kGalera})));
}

TEST(MysqlFacts, LowerWhatAServerCannotGive) {
  const std::pair<Variables, Exclusion> cases[] = {
      {{{"version", "8.4.0"}, {"innodb_flush_log_at_trx_commit", "1"}},
       Exclusion::bounded_by_clocks},
      {{{"version", "8.4.0"}, {"innodb_flush_log_at_trx_commit", "2"}}, Exclusion::best_effort},
      {{{"version", "8.4.0"}, {"innodb_flush_log_at_trx_commit", "0"}}, Exclusion::best_effort},
      {{{"version", "8.0.11-TiDB-v7.5.1"}}, Exclusion::best_effort},
      {kGalera, Exclusion::best_effort},
      {{{"version", "8.4.0"},
        {"group_replication_group_name", "a"},
        {"group_replication_single_primary_mode", "OFF"}},
       Exclusion::best_effort},
  };
  for (const auto& [variables, exclusion] : cases) {
    const Examination found = examined({.server = "h:1", .variables = variables});
    EXPECT_EQ(lowered(mysql_table_guarantees(), found.findings).exclusion, exclusion)
        << variables.at("version");
  }
}

}  // namespace
}  // namespace holdfast::internal::mysql
