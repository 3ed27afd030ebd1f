#include "engines/quorum/quorum_url.h"

#include <algorithm>

#include "base/url_options.h"

namespace holdfast::internal::quorum {

namespace {

constexpr std::size_t kMostNodes = 25;

std::optional<std::string> check_options(const Url& url, const UrlForm& form) {
  std::string known = "node_timeout_ms, collect";
  for (const char* option : form.options) known += std::string(", ") + option;
  for (const auto& [key, value] : url.query) {
    const bool ours = key == "node_timeout_ms" || key == "collect";
    if (ours || std::find(form.options.begin(), form.options.end(), key) != form.options.end()) {
      continue;
    }
    return "unknown option '" + key + "' (there is " + known + ")";
  }
  return std::nullopt;
}

std::optional<std::string> take_options(std::map<std::string, std::string>& query,
                                        QuorumOptions& quorum) {
  if (const auto timeout = query.find("node_timeout_ms"); timeout != query.end()) {
    constexpr int kMost = 60'000;
    auto problem = take_time("node_timeout_ms", timeout->second, quorum.node_timeout, kMost);
    if (problem) return problem;
    query.erase(timeout);
  }
  if (const auto collect = query.find("collect"); collect != query.end()) {
    if (collect->second != "majority" && collect->second != "all") {
      return "collect is majority or all, not '" + collect->second + "'";
    }
    quorum.collect_all = collect->second == "all";
    query.erase(collect);
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<Endpoint>> take_nodes(Url& url, const UrlForm& form, QuorumOptions& quorum,
                                         const ClientOptions& options) {
  const auto invalid = [&](const std::string& why) {
    return Failure(Code::invalid_argument, why + "; " + form.how);
  };
  if (!url.has_authority) return invalid("'" + url.scheme + ":' must be followed by //");
  if (const auto problem = check_options(url, form)) return invalid(*problem);
  if (const auto problem = take_options(url.query, quorum)) return invalid(*problem);
  const Result<std::vector<Endpoint>> endpoints = parse_endpoints(url.hosts, form.port);
  if (!endpoints) return invalid(endpoints.message());
  const std::size_t nodes = endpoints->size();
  if (nodes > kMostNodes) {
    return invalid("there are " + std::to_string(nodes) + " nodes, and at most " +
                   std::to_string(kMostNodes) + " can be asked");
  }
  std::vector<Endpoint> sorted = *endpoints;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return invalid(twice->display() + " is named twice");
  if (nodes % 2 == 0 && options.observer) {
    options.observer->on_warning(std::to_string(nodes) +
                                 " nodes survive the loss of no more of them than " +
                                 std::to_string(nodes - 1) + " would: use an odd number");
  }
  return endpoints;
}

}  // namespace holdfast::internal::quorum
