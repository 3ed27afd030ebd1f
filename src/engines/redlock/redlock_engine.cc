#include "engines/redlock/redlock_engine.h"

#include <charconv>

#include "engines/redis/settings.h"
#include "engines/redlock/redlock_electorate.h"

namespace holdfast::internal {

namespace {

constexpr std::uint16_t kPort = 6379;
constexpr std::size_t kMostNodes = 25;
constexpr const char* kForm =
    "write redlock[s]://HOST:PORT,HOST:PORT,HOST:PORT[/DATABASE]; a login goes in front of the "
    "first "
    "HOST and is for all of them";
constexpr const char* kOptions =
    "node_timeout_ms, collect, prefix, client_name, connect_timeout_ms, command_timeout_ms, ca, "
    "cert, key, verify";

Failure invalid(const std::string& why) {
  return Failure(Code::invalid_argument, why + "; " + kForm);
}

// Takes the options that are about the quorum out of the query.
std::optional<std::string> take_options(std::map<std::string, std::string>& query,
                                        quorum::QuorumOptions& options) {
  for (const char* none : {"socket", "wait_replicas", "sentinel_user", "sentinel_password"}) {
    if (query.contains(none)) {
      return std::string("there is no option '") + none + "' here (there is " + kOptions + ")";
    }
  }
  if (const auto timeout = query.find("node_timeout_ms"); timeout != query.end()) {
    const std::string& text = timeout->second;
    int milliseconds = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || milliseconds < 1 ||
        milliseconds > 60'000) {
      return "node_timeout_ms is a number of milliseconds up to 60000, not '" + text + "'";
    }
    options.node_timeout = std::chrono::milliseconds(milliseconds);
    query.erase(timeout);
  }
  if (const auto collect = query.find("collect"); collect != query.end()) {
    if (collect->second != "majority" && collect->second != "all") {
      return "collect is majority or all, not '" + collect->second + "'";
    }
    options.collect_all = collect->second == "all";
    query.erase(collect);
  }
  return std::nullopt;
}

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
          "token then tells them apart. A node that lost its data is silent for the longest ttl."};
}

Result<std::unique_ptr<Engine>> open_redlock_engine(const Url& url, Runtime& runtime,
                                                    const ClientOptions& options) {
  if (!url.has_authority) return invalid("'" + url.scheme + ":' must be followed by //");
  Url rest = url;
  quorum::QuorumOptions quorum{.request_timeout = options.request_timeout};
  if (const auto problem = take_options(rest.query, quorum)) return invalid(*problem);
  const Result<std::vector<Endpoint>> endpoints = parse_endpoints(url.hosts, kPort);
  if (!endpoints) return invalid(endpoints.message());
  if (endpoints->size() > kMostNodes) {
    return invalid("there are " + std::to_string(endpoints->size()) + " nodes, and at most " +
                   std::to_string(kMostNodes) + " can be asked");
  }
  rest.scheme = url.scheme == "redlocks" ? "rediss" : "redis";
  std::vector<redis::Settings> nodes;
  for (const Endpoint& endpoint : *endpoints) {
    for (const redis::Settings& other : nodes) {
      if (other.endpoints.front() == endpoint) {
        return invalid(endpoint.display() + " is named twice");
      }
    }
    rest.hosts = endpoint.display();
    Result<redis::Settings> settings = redis::settings_from(rest, options);
    if (!settings) return settings.failure();
    quorum.request_timeout = settings->request_timeout;
    nodes.push_back(std::move(settings).value());
  }
  if (nodes.size() % 2 == 0 && options.observer) {
    options.observer->on_warning(std::to_string(nodes.size()) +
                                 " nodes survive the loss of no more of them than " +
                                 std::to_string(nodes.size() - 1) + " would: use an odd number");
  }
  return quorum::make_quorum_engine(
      runtime,
      std::make_unique<redlock::RedlockElectorate>(runtime, nodes, quorum, options.observer),
      quorum);
}

}  // namespace holdfast::internal
