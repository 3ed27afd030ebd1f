#include "engines/redlock/redlock_engine.h"

#include "base/url_options.h"
#include "engines/quorum/quorum_url.h"
#include "engines/redis/settings.h"
#include "engines/redlock/redlock_electorate.h"

namespace holdfast::internal {

namespace {

const quorum::UrlForm kForm{
    .port = 6379,
    .how =
        "write redlock[s]://HOST:PORT,HOST:PORT,HOST:PORT[/DATABASE]; a login goes in front of the "
        "first HOST and is for all of them",
    .options = {"prefix", "client_name", "connect_timeout_ms", "command_timeout_ms", "ca", "cert",
                "key", "verify", "longest_ttl_ms"}};

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
      .min_ttl = std::chrono::milliseconds(50),
      .notes =
          "Two can hold it if clocks of a majority's shared node jump, or a holder is paused; the "
          "token then tells them apart. A node that restarts does not vote for the longest ttl."};
}

Result<std::unique_ptr<Engine>> open_redlock_engine(const Url& url, Runtime& runtime,
                                                    const ClientOptions& options) {
  Url rest = url;
  quorum::QuorumOptions quorum{.request_timeout = options.request_timeout};
  const Result<std::vector<Endpoint>> endpoints = quorum::take_nodes(rest, kForm, quorum, options);
  if (!endpoints) return endpoints.failure();
  Duration usual_longest = std::chrono::minutes(1);
  if (const auto longest = rest.query.find("longest_ttl_ms"); longest != rest.query.end()) {
    constexpr int kMost = 86'400'000;
    const auto problem = take_time("longest_ttl_ms", longest->second, usual_longest, kMost);
    if (problem) return Failure(Code::invalid_argument, *problem + "; " + kForm.how);
    rest.query.erase(longest);
  }
  const bool encrypted = url.scheme == "redlocks";
  for (const char* option : {"ca", "cert", "key", "verify"}) {
    if (rest.query.contains(option) && !encrypted) {
      return Failure(
          Code::invalid_argument,
          std::string("ca, cert, key and verify are for TLS: write redlocks; ") + kForm.how);
    }
  }
  rest.scheme = encrypted ? "rediss" : "redis";
  std::vector<redis::Settings> nodes;
  for (const Endpoint& endpoint : *endpoints) {
    rest.hosts = endpoint.display();
    Result<redis::Settings> settings = redis::settings_from(rest, options, kForm.how);
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
