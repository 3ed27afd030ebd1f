#include "engines/redlock/redlock_engine.h"

#include "engines/quorum/quorum_url.h"
#include "engines/redis/settings.h"
#include "engines/redlock/redlock_electorate.h"

namespace holdfast::internal {

namespace {

constexpr std::uint16_t kPort = 6379;
constexpr int kMaxLongestTtlMs = 86'400'000;
constexpr const char* kForm =
    "write redlock[s]://HOST:PORT,HOST:PORT,HOST:PORT[/DATABASE]; a login goes in front of the "
    "first HOST and is for all of them";

}  // namespace

Guarantees redlock_guarantees() {
  return Guarantees{
      .engine = "redlock",
      .recipe = "majority of masters",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::quorum,
      .wake_up = WakeUp::push,
      .fairness = Fairness::roughly,
      .shared_mode = true,
      .permit_mode = false,
      .no_permits_because =
          "a quorum cannot count permits: with 5 nodes and 2 permits there are 10 votes, enough "
          "for "
          "three majorities of 3",
      .no_records_because =
          "masters that know nothing of each other cannot agree on one; use a single Redis, or a "
          "database",
      .min_ttl = std::chrono::milliseconds(50),
      .notes =
          "Two can hold it if clocks of a majority's shared node jump, or a holder is paused; the "
          "token then tells them apart. A node that restarts does not vote for the longest ttl."};
}

Result<std::unique_ptr<Engine>> open_redlock_engine(const Url& url, Runtime& runtime,
                                                    const ClientOptions& options) {
  UrlReader reader(url, kForm);
  quorum::QuorumOptions quorum;
  const std::vector<Endpoint> endpoints = quorum::read_nodes(reader, kPort, quorum, options);
  Duration usual_longest = std::chrono::minutes(1);
  reader.time_ms("longest_ttl_ms", usual_longest, kMaxLongestTtlMs);
  Url node = reader.with_only({"prefix", "client_name", "connect_timeout_ms", "command_timeout_ms",
                               "ca", "cert", "key", "verify"});
  const bool encrypted = url.scheme == "redlocks";
  for (const char* option : {"ca", "cert", "key", "verify"}) {
    reader.require(encrypted || !node.query.contains(option),
                   "ca, cert, key and verify are for TLS: write redlocks");
  }
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  node.scheme = encrypted ? "rediss" : "redis";
  std::vector<redis::Settings> nodes;
  for (const Endpoint& endpoint : endpoints) {
    node.hosts = endpoint.display();
    Result<redis::Settings> settings = redis::settings_from(node, options, kForm);
    if (!settings) return settings.failure();
    quorum.request_timeout = settings->request_timeout;
    nodes.push_back(std::move(settings).value());
  }
  return quorum::make_quorum_engine(runtime,
                                    std::make_unique<redlock::RedlockElectorate>(
                                        runtime, nodes, quorum, usual_longest, options.observer),
                                    quorum);
}

}  // namespace holdfast::internal
