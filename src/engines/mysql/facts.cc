#include "engines/mysql/facts.h"

#include "base/known_server.h"
#include "sql/rights.h"

namespace holdfast::internal::mysql {

namespace {

using Findings = std::vector<Finding>;

constexpr const char* kVariables[] = {"version",
                                      "version_comment",
                                      "wsrep_on",
                                      "wsrep_provider",
                                      "wsrep_cluster_name",
                                      "group_replication_group_name",
                                      "group_replication_single_primary_mode",
                                      "innodb_flush_log_at_trx_commit",
                                      "innodb_doublewrite",
                                      "log_bin",
                                      "sync_binlog",
                                      "binlog_format",
                                      "read_only",
                                      "super_read_only",
                                      "transaction_isolation",
                                      "tx_isolation",
                                      "wait_timeout"};

bool is_galera(const Facts& facts) {
  const std::string provider = facts.variable("wsrep_provider");
  return facts.is_on("wsrep_on") && !provider.empty() && provider != "none";
}

void judge_galera(const Facts& facts, Findings& findings) {
  constexpr const char* kInstead =
      "use recipe=table with all clients at one node, or a database server without Galera, or etcd "
      "or ZooKeeper";
  switch (facts.recipe) {
    case RecipeName::named:
      findings.push_back(
          {Severity::unfit, "galera-named",
           "it is a node of a Galera cluster, and GET_LOCK is known to one node only: "
           "each node grants the same lock",
           kInstead});
      return;
    case RecipeName::row:
      findings.push_back({Severity::unfit, "galera-row",
                          "it is a node of a Galera cluster, and a locked row is known to one node "
                          "only until its transaction is certified at commit: each node grants the "
                          "same lock",
                          kInstead});
      return;
    case RecipeName::table:
      findings.push_back(
          {Severity::warning, "galera-table",
           "it is a node of a Galera cluster: rows are certified at commit, and each "
           "node counts leases by a clock of its own",
           "let all clients use one node", Exclusion::best_effort});
      return;
  }
}

void judge_others(const Examination& found, Findings& findings) {
  if (found.product == "TiDB" || found.product == "Vitess") {
    findings.push_back({Severity::warning, "mysql-untested",
                        "nobody has tested these locks on " + found.product,
                        "use MySQL or MariaDB where it matters", Exclusion::best_effort,
                        TokenStrength::volatile_memory});
  }
}

void name_product(const Facts& facts, Examination& found) {
  const std::string version = facts.variable("version");
  const std::string comment = facts.variable("version_comment");
  const auto has = [&](const char* word) {
    return version.find(word) != std::string::npos || comment.find(word) != std::string::npos;
  };
  const auto after = [&](const std::string& mark) {
    const std::size_t place = version.find(mark);
    return place == std::string::npos ? version : version.substr(place + mark.size());
  };
  found.version = version.substr(0, version.find('-'));
  if (has("TiDB")) {
    found.product = "TiDB";
    found.version = after("TiDB-v");
  } else if (has("Vitess") || has("vitess")) {
    found.product = "Vitess";
  } else if (has("MariaDB")) {
    found.product = "MariaDB";
  } else if (has("Percona")) {
    found.product = "Percona Server";
  } else {
    found.product = version.empty() ? "" : "MySQL";
  }
  if (is_galera(facts)) found.product += " with Galera";
}

void look_at_version(const Examination& found, Findings& findings) {
  const VersionNumber number = VersionNumber::parse(found.version);
  const bool mariadb = found.product.starts_with("MariaDB");
  const VersionNumber least = mariadb ? VersionNumber{10, 6, 0} : VersionNumber{8, 0, 0};
  const bool known =
      mariadb || found.product.starts_with("MySQL") || found.product.starts_with("Percona");
  if (!known || number >= least) return;
  findings.push_back({Severity::warning, "mysql-old",
                      found.product + " " + found.version + " is older than what is tested",
                      "upgrade to MariaDB 10.6 or MySQL 8, or later"});
}

void look_at_durability(const Facts& facts, Findings& findings) {
  const std::string flush = facts.variable("innodb_flush_log_at_trx_commit");
  if (flush == "1") {
    findings.push_back(
        {Severity::good, "mysql-durable", "commits are on disk before they are answered", ""});
  } else if (!flush.empty()) {
    findings.push_back({Severity::warning, "mysql-flush",
                        "commits reach the disk late (innodb_flush_log_at_trx_commit = " + flush +
                            "): a crash " + (flush == "2" ? "of the machine " : "") +
                            "takes the last second of locks and tokens",
                        "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the server's "
                        "configuration",
                        Exclusion::best_effort, TokenStrength::volatile_memory});
  }
  if (facts.is_on("log_bin") && facts.variable("sync_binlog") == "0") {
    findings.push_back(
        {Severity::note, "mysql-sync-binlog",
         "sync_binlog is 0: after a crash replicas may lack, or have more than, what "
         "this server remembers; a failover then forgets the newest locks",
         "SET GLOBAL sync_binlog = 1, and in the server's configuration"});
  }
  if (facts.variable("innodb_doublewrite") == "OFF") {
    findings.push_back(
        {Severity::warning, "mysql-doublewrite",
         "innodb_doublewrite is off: a power failure can corrupt the tables of locks",
         "innodb_doublewrite = ON in the server's configuration, and a restart"});
  }
}

void look_at_role(const Facts& facts, Findings& findings) {
  if (facts.read_only()) {
    findings.push_back({Severity::warning, "mysql-read-only",
                        "it can only be read (read_only is on): is it a replica?",
                        "connect to the primary; mysql://h1,h2/db finds it"});
  }
  if (!facts.variable("group_replication_group_name").empty() &&
      facts.variable("group_replication_single_primary_mode") == "OFF") {
    findings.push_back(
        {facts.recipe == RecipeName::table ? Severity::warning : Severity::unfit,
         "mysql-multi-primary",
         "it is one of several primaries of a replication group: locks of a session are known to "
         "one of them only, and rows are certified at commit",
         "SELECT group_replication_switch_to_single_primary_mode()", Exclusion::best_effort});
  }
  if (facts.is_on("log_bin") && facts.variable("binlog_format") == "STATEMENT") {
    findings.push_back({Severity::warning, "mysql-binlog-format",
                        "binlog_format is STATEMENT, which refuses writes of READ COMMITTED "
                        "transactions: no token can be drawn, and so nothing is granted",
                        "SET GLOBAL binlog_format = MIXED, or ROW"});
  }
}

}  // namespace

SqlStatement question() {
  std::string names;
  for (const char* name : kVariables) {
    names += (names.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  return {"SHOW GLOBAL VARIABLES WHERE Variable_name IN (" + names + ")", {}};
}

Facts facts_from(const SqlRows& rows, RecipeName recipe, std::string server) {
  Facts facts{.recipe = recipe, .server = std::move(server)};
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    if (rows.rows[i].size() >= 2) facts.variables[rows.bytes(i, 0)] = rows.bytes(i, 1);
  }
  return facts;
}

Examination examined(const Facts& facts) {
  Examination found;
  found.server = "MySQL at " + facts.server;
  name_product(facts, found);
  for (const auto& [name, value] : facts.variables) {
    if (!name.starts_with("version")) found.settings.push_back({name, value});
  }
  if (is_galera(facts)) judge_galera(facts, found.findings);
  judge_others(found, found.findings);
  look_at_version(found, found.findings);
  look_at_role(facts, found.findings);
  note_missing_rights("mysql", facts.missing_rights, found.findings);
  look_at_durability(facts, found.findings);
  return found;
}

}  // namespace holdfast::internal::mysql
