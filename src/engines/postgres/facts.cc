#include "engines/postgres/facts.h"

#include "base/known_server.h"
#include "sql/rights.h"

namespace holdfast::internal::postgres {

namespace {

using Findings = std::vector<Finding>;

constexpr const char* kSettings[] = {"server_version",
                                     "fsync",
                                     "full_page_writes",
                                     "synchronous_commit",
                                     "synchronous_standby_names",
                                     "default_transaction_read_only",
                                     "idle_session_timeout",
                                     "idle_in_transaction_session_timeout"};
constexpr const char* kInstead =
    "use a PostgreSQL server, or etcd or ZooKeeper where no single server will do";

// The word behind `mark` in `text`; nothing if the mark is not there.
std::optional<std::string> word_after(const std::string& text, const std::string& mark) {
  const std::size_t place = text.find(mark);
  if (place == std::string::npos) return std::nullopt;
  const std::size_t begin = place + mark.size();
  return text.substr(begin, text.find(' ', begin) - begin);
}

void judge_cockroach(const Facts& facts, Findings& findings) {
  // cockroachdb/cockroach#13546: session-level advisory locks are stubs that return true.
  const std::string why =
      facts.recipe == "advisory"
          ? "CockroachDB's advisory locks always succeed (its issue 13546): everybody would hold "
            "the lock"
      : facts.recipe == "row"
          ? "CockroachDB keeps the locks of SELECT … FOR UPDATE in memory: they are lost when a "
            "range moves or a node restarts, and two clients hold the same one"
          : "CockroachDB has neither LISTEN and NOTIFY nor advisory locks (its issue 13546), by "
            "which waiters are woken and dead ones are told from living ones";
  findings.push_back({Severity::unfit, "cockroachdb", why, kInstead});
}

void judge_yugabyte(const Facts& facts, const std::string& version, Findings& findings) {
  const VersionNumber number = VersionNumber::parse(version);
  const bool has_advisory = number >= VersionNumber{2025, 1, 0};
  const bool has_listen = number >= VersionNumber{2025, 2, 3};
  if (facts.recipe == "advisory" && !has_advisory) {
    findings.push_back({Severity::unfit, "yugabytedb",
                        "YugabyteDB has advisory locks across nodes from 2025.1 on only (its issue "
                        "3642), and this is " +
                            version,
                        "upgrade it to 2025.1 or later, or use a PostgreSQL server"});
  } else if (facts.recipe == "table" && !has_listen) {
    findings.push_back({Severity::unfit, "yugabytedb",
                        "YugabyteDB has LISTEN and NOTIFY, by which waiters are woken, from "
                        "2025.2.3 on only (its issue 1872), and this is " +
                            version,
                        "upgrade it to 2025.2.3 or later, or use a PostgreSQL server"});
  } else {
    findings.push_back({Severity::warning, "yugabytedb-untested",
                        "nobody has tested these locks on YugabyteDB",
                        "use a PostgreSQL server where it matters", Exclusion::best_effort});
  }
}

void name_product(const Facts& facts, Examination& found) {
  if (const auto cockroach = word_after(facts.version, "CockroachDB ")) {
    found.product = "CockroachDB";
    found.version = word_after(facts.version, " v").value_or("");
    judge_cockroach(facts, found.findings);
  } else if (const auto yugabyte = word_after(facts.version, "-YB-")) {
    found.product = "YugabyteDB";
    found.version = yugabyte->substr(0, yugabyte->find('-'));
    judge_yugabyte(facts, found.version, found.findings);
  } else if (const auto version = word_after(facts.version, "PostgreSQL ")) {
    found.product = "PostgreSQL";
    found.version = *version;
  } else {
    found.product = facts.version;
    found.findings.push_back({Severity::warning, "postgres-unknown-product",
                              "nobody has tested these locks on this product", kInstead,
                              Exclusion::best_effort});
  }
}

void look_at_durability(const Facts& facts, Findings& findings) {
  const auto setting = [&](const char* name) {
    const auto place = facts.settings.find(name);
    return place == facts.settings.end() ? std::string() : place->second;
  };
  if (setting("fsync") == "off") {
    findings.push_back({Severity::warning, "postgres-fsync",
                        "fsync is off: after a crash of the machine locks and tokens may be "
                        "forgotten, or the database be corrupt",
                        "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()",
                        Exclusion::best_effort, TokenStrength::volatile_memory});
  }
  if (setting("full_page_writes") == "off") {
    findings.push_back({Severity::warning, "postgres-full-page-writes",
                        "full_page_writes is off: a power failure can corrupt the tables of locks",
                        "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()",
                        Exclusion::best_effort, TokenStrength::volatile_memory});
  }
  if (setting("synchronous_commit") == "off") {
    findings.push_back({Severity::note, "postgres-synchronous-commit",
                        "synchronous_commit is off by default here; our sessions set it to local",
                        ""});
  }
  if (setting("fsync") == "on") {
    findings.push_back(
        {Severity::good, "postgres-durable", "commits are on disk before they are answered", ""});
  }
  if (setting("synchronous_standby_names").empty() && !facts.in_recovery) {
    findings.push_back({Severity::note, "postgres-no-synchronous-standby",
                        "no standby confirms commits: a failover, if there is one, may forget the "
                        "newest locks",
                        "with standbys: ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'; "
                        "SELECT pg_reload_conf()"});
  }
}

void look_at_role(const Facts& facts, Findings& findings) {
  const auto read_only = facts.settings.find("default_transaction_read_only");
  if (facts.in_recovery) {
    findings.push_back({Severity::warning, "postgres-standby",
                        "it is a standby and can only be read: it grants nothing",
                        "connect to the primary; postgres://h1,h2/db finds it"});
  } else if (read_only != facts.settings.end() && read_only->second == "on") {
    findings.push_back({Severity::warning, "postgres-read-only",
                        "default_transaction_read_only is on: it grants nothing",
                        "ALTER DATABASE … SET default_transaction_read_only = off"});
  }
}

void look_at_proxy(const Facts& facts, Findings& findings) {
  if (facts.pools_transactions && facts.pooled) {
    findings.push_back({Severity::good, "postgres-pooled",
                        "there is a proxy that pools transactions, as the URL says (pooled=yes)",
                        ""});
  } else if (facts.pools_transactions) {
    findings.push_back({Severity::unfit, "postgres-transaction-pool",
                        "there is a proxy that pools transactions: sessions, and the locks in "
                        "them, are shared with other clients",
                        facts.recipe == "table"
                            ? "connect to the server itself, let the proxy pool sessions "
                              "(pool_mode = session), or add pooled=yes to the URL"
                            : "connect to the server itself, let the proxy pool sessions "
                              "(pool_mode = session), or use recipe=table with pooled=yes"});
  } else if (facts.behind_proxy) {
    findings.push_back({Severity::note, "postgres-proxy",
                        "there is a proxy in between that gives each client a session of its own",
                        ""});
  }
}

}  // namespace

std::vector<SqlStatement> questions() {
  std::string settings = "SELECT CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END";
  for (const char* name : kSettings) {
    settings += std::string(", current_setting('") + name + "', true)";
  }
  return {{"SELECT version()", {}, true}, {settings, {}, true}};
}

Facts facts_from(const std::vector<SqlRows>& results, std::string recipe, std::string server) {
  Facts facts{.recipe = std::move(recipe), .server = std::move(server)};
  if (!results.empty() && !results[0].empty()) facts.version = results[0].bytes(0, 0);
  if (results.size() < 2 || results[1].empty()) return facts;
  facts.in_recovery = results[1].number(0, 0) == 1;
  for (std::size_t i = 0; i < std::size(kSettings); ++i) {
    if (!results[1].null(0, i + 1)) facts.settings[kSettings[i]] = results[1].bytes(0, i + 1);
  }
  return facts;
}

Examination examined(const Facts& facts) {
  Examination found;
  found.server = "PostgreSQL at " + facts.server;
  name_product(facts, found);
  for (const auto& [name, value] : facts.settings) {
    if (name != "server_version") found.settings.push_back({name, value});
  }
  found.settings.push_back({"in_recovery", facts.in_recovery ? "yes" : "no"});
  look_at_proxy(facts, found.findings);
  look_at_role(facts, found.findings);
  note_missing_rights("postgres", facts.missing_rights, found.findings);
  look_at_durability(facts, found.findings);
  return found;
}

}  // namespace holdfast::internal::postgres
