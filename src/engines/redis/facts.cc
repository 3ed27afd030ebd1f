#include "engines/redis/facts.h"

#include "base/known_server.h"

namespace holdfast::internal::redis {

namespace {

using Findings = std::vector<Finding>;

bool is_unknown_command(const std::string& error) {
  // Redis, its proxies (Envoy, Twemproxy, Codis, …) and clones that leave commands out.
  for (const char* words : {"unknown command", "unsupported command", "not supported", "unsupport",
                            "command not found"}) {
    if (error.find(words) != std::string::npos) return true;
  }
  return false;
}

void name_product(const Facts& facts, Examination& found) {
  const auto field = [&](std::string_view name) { return info_field(facts.info, name); };
  found.version = field("redis_version");
  found.product = found.version.empty() ? "" : "Redis";
  if (const std::string version = field("valkey_version"); !version.empty()) {
    found.product = "Valkey";
    found.version = version;
  } else if (const std::string dragonfly = field("dragonfly_version"); !dragonfly.empty()) {
    found.product = "Dragonfly";
    found.version = dragonfly.starts_with("df-v") ? dragonfly.substr(4) : dragonfly;
  } else if (field("executable").find("keydb") != std::string::npos) {
    found.product = "KeyDB";
  }
}

void list_settings(const Facts& facts, Examination& found) {
  for (const char* name : {"redis_mode", "role", "master_host", "master_link_status",
                           "connected_slaves", "min_slaves_good_slaves", "aof_enabled",
                           "rdb_last_save_time", "maxmemory", "maxmemory_policy"}) {
    if (std::string value = info_field(facts.info, name); !value.empty()) {
      found.settings.push_back({name, std::move(value)});
    }
  }
  if (facts.appendfsync) found.settings.push_back({"appendfsync", *facts.appendfsync});
}

void look_for_commands(const Facts& facts, Findings& findings) {
  if (is_unknown_command(facts.script_error)) {
    findings.push_back({Severity::unfit, "redis-no-scripts",
                        "it runs no Lua scripts (" + facts.script_error +
                            "), and each step of a lock is one; it is a proxy or a clone",
                        "connect to the Redis server itself"});
  }
  if (is_unknown_command(facts.channel_error)) {
    findings.push_back({Severity::unfit, "redis-no-channels",
                        "it has no publish and subscribe (" + facts.channel_error +
                            "), by which waiters are woken; it is a proxy or a clone",
                        "connect to the Redis server itself"});
  }
  const auto lacks_right = [&](const std::string& error, const char* what) {
    if (!error.starts_with("NOPERM")) return;
    findings.push_back({Severity::warning, "redis-rights",
                        std::string("the user lacks the right to ") + what + " (" + error + ")",
                        "give it the rights in docs/engines/redis.md: ACL SETUSER …"});
  };
  lacks_right(facts.script_error, "run scripts (EVAL, EVALSHA)");
  lacks_right(facts.channel_error, "ask for subscribers (PUBSUB NUMSUB)");
}

void look_at_version(const Examination& found, Findings& findings) {
  if (found.product != "Redis" && found.product != "KeyDB") return;
  if (VersionNumber::parse(found.version) >= VersionNumber{5, 0, 0}) return;
  findings.push_back({Severity::unfit, "redis-too-old",
                      found.product + " " + found.version +
                          " is too old: scripts may not read the clock before they write, and "
                          "there is no ZPOPMIN",
                      "upgrade it to 6.2 or later"});
}

void look_at_persistence(const Facts& facts, Findings& findings) {
  constexpr const char* kAlways =
      "redis-cli CONFIG SET appendonly yes; redis-cli CONFIG SET appendfsync always; redis-cli "
      "CONFIG REWRITE";
  const std::string aof = info_field(facts.info, "aof_enabled");
  if (facts.in_quorum) {
    const bool durable = aof == "1" && facts.appendfsync == "always";
    findings.push_back({durable ? Severity::good : Severity::note, "redis-quorum-persistence",
                        durable ? "every write is on disk before it is answered"
                                : "it does not keep every write: after a restart it does not vote "
                                  "until all locks that it may have forgotten are over",
                        durable ? "" : kAlways});
    return;
  }
  if (aof.empty()) {
    findings.push_back({Severity::note, "redis-persistence-unknown",
                        "it does not say whether it keeps a log of its writes; without one, a "
                        "restart forgets who holds what",
                        "", Exclusion::best_effort});
    return;
  }
  if (aof == "0") {
    findings.push_back({Severity::warning, "redis-no-append-only-file",
                        "it keeps no log of its writes: after a restart or a crash it does not "
                        "know who held what, and grants it again",
                        kAlways, Exclusion::best_effort});
    return;
  }
  if (!facts.appendfsync) {
    findings.push_back({Severity::note, "redis-fsync-unknown",
                        "it logs its writes, but does not say when they reach the disk", "",
                        Exclusion::best_effort});
  } else if (*facts.appendfsync == "always") {
    findings.push_back({Severity::good, "redis-append-only-file",
                        "every write is on disk before it is answered", ""});
  } else {
    findings.push_back({Severity::warning, "redis-fsync",
                        "its log reaches the disk late (appendfsync " + *facts.appendfsync +
                            "): a power failure takes the last second of locks",
                        "redis-cli CONFIG SET appendfsync always; redis-cli CONFIG REWRITE",
                        Exclusion::best_effort});
  }
}

void look_at_eviction(const Facts& facts, Findings& findings) {
  const std::string policy = info_field(facts.info, "maxmemory_policy");
  if (policy.empty()) return;
  if (policy == "noeviction" || info_field(facts.info, "maxmemory") == "0") {
    findings.push_back({Severity::good, "redis-eviction", "it evicts no keys", ""});
    return;
  }
  findings.push_back({Severity::warning, "redis-eviction",
                      "it may evict locks when its memory is full (maxmemory-policy " + policy +
                          "): two clients could then hold the same one",
                      "redis-cli CONFIG SET maxmemory-policy noeviction, or use a server of its "
                      "own for locks",
                      Exclusion::best_effort});
}

void look_at_replication(const Facts& facts, Findings& findings) {
  const std::string role = info_field(facts.info, "role");
  if (role == "active-replica") {
    findings.push_back({Severity::unfit, "redis-active-replica",
                        "it is one of several KeyDB masters that replicate to each other: each of "
                        "them grants the same lock",
                        "set active-replica no, and write the locks to one server"});
  }
  if (role == "slave") {
    findings.push_back({Severity::warning, "redis-replica",
                        "it is a read-only replica of " + info_field(facts.info, "master_host") +
                            ":" + info_field(facts.info, "master_port") + ", and grants nothing",
                        "connect to its master, or to the sentinels: redis+sentinel://…"});
    return;
  }
  const std::string replicas = info_field(facts.info, "connected_slaves");
  if (replicas.empty() || replicas == "0") return;
  if (facts.layout == Layout::single) {
    findings.push_back({Severity::note, "redis-replicas",
                        "it has " + replicas +
                            " replicas; if one of them takes over, the newest locks are forgotten",
                        "write redis+sentinel://… or redis+cluster://… where that is automatic"});
  }
}

}  // namespace

std::string info_field(std::string_view info, std::string_view field) {
  for (std::size_t at = info.find(field); at != std::string_view::npos;
       at = info.find(field, at + 1)) {
    const std::size_t begin = at + field.size();
    const bool whole = at == 0 || info[at - 1] == '\n';
    if (!whole || !info.substr(begin).starts_with(':')) continue;
    return std::string(info.substr(begin + 1, info.find_first_of("\r\n", begin) - begin - 1));
  }
  return {};
}

std::vector<Words> greeting() {
  return {{"INFO", "server"},
          {"INFO", "memory"},
          {"INFO", "persistence"},
          {"INFO", "replication"},
          {"CONFIG", "GET", "appendfsync"},
          {"EVAL", "return 1", "0"},
          {"PUBSUB", "NUMSUB", "holdfast:"}};
}

Facts facts_from(const std::vector<Reply>& answers, Layout layout, std::string server) {
  constexpr std::size_t kSections = 4;
  Facts facts{.layout = layout, .server = std::move(server)};
  for (std::size_t i = 0; i < kSections && i < answers.size(); ++i) {
    if (!answers[i].is_error()) facts.info += answers[i].text + "\r\n";
  }
  if (answers.size() < greeting().size()) return facts;
  const Reply& fsync = answers[kSections];
  if (!fsync.is_error() && fsync.items.size() == 2) facts.appendfsync = fsync.at(1).text;
  if (answers[kSections + 1].is_error()) facts.script_error = answers[kSections + 1].text;
  if (answers[kSections + 2].is_error()) facts.channel_error = answers[kSections + 2].text;
  return facts;
}

Examination examined(const Facts& facts) {
  Examination found;
  found.server = "Redis at " + facts.server;
  name_product(facts, found);
  list_settings(facts, found);
  look_for_commands(facts, found.findings);
  look_at_version(found, found.findings);
  look_at_replication(facts, found.findings);
  look_at_persistence(facts, found.findings);
  look_at_eviction(facts, found.findings);
  return found;
}

}  // namespace holdfast::internal::redis
