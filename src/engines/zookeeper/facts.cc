#include "engines/zookeeper/facts.h"

#include <algorithm>

#include "base/known_server.h"
#include "wire/ask_once.h"

namespace holdfast::internal::zookeeper {

namespace {

using Findings = std::vector<Finding>;

// The text between `mark` and one of `ends`; empty if `mark` is not there.
std::string after(std::string_view text, std::string_view mark, std::string_view ends) {
  const std::size_t place = text.find(mark);
  if (place == std::string_view::npos) return {};
  const std::string_view rest = text.substr(place + mark.size());
  return std::string(rest.substr(0, rest.find_first_of(ends)));
}

void look_for_defects(const ServerFacts& server, Findings& findings) {
  if (server.version.empty() || server.mode == "standalone") return;
  const VersionNumber version = VersionNumber::parse(server.version);
  if (version == VersionNumber{3, 9, 3}) {
    findings.push_back({Severity::warning, "zookeeper-4925",
                        server.server + " runs 3.9.3: a follower that was away keeps a hole in its "
                                        "log and, as leader, loses committed nodes "
                                        "(ZOOKEEPER-4925)",
                        "upgrade to 3.9.4 or later", Exclusion::best_effort,
                        TokenStrength::durable_one_node});
  }
  const bool racing = version < VersionNumber{3, 8, 4} ||
                      (version >= VersionNumber{3, 9, 0} && version < VersionNumber{3, 9, 2});
  if (racing) {
    findings.push_back({Severity::warning, "zookeeper-4785",
                        server.server + " runs " + server.version +
                            ": a follower that is restarted while it catches up can lose committed "
                            "nodes (ZOOKEEPER-4785)",
                        "upgrade to 3.8.4, 3.9.4 or later", Exclusion::best_effort,
                        TokenStrength::durable_one_node});
  }
}

}  // namespace

ServerFacts parse_srvr(std::string_view answer, std::string server) {
  ServerFacts facts{.server = std::move(server)};
  facts.version = after(answer, "Zookeeper version: ", "-, \r\n");
  facts.mode = after(answer, "Mode: ", " \r\n");
  if (facts.version.empty()) {
    facts.problem = answer.find("whitelist") != std::string_view::npos
                        ? "it may not answer `srvr`"
                        : "it does not answer `srvr` as ZooKeeper does";
  }
  return facts;
}

Examination examined(const std::vector<ServerFacts>& servers) {
  Examination found;
  std::string where;
  std::size_t silent = 0;
  for (const ServerFacts& server : servers) {
    where += (where.empty() ? "" : ",") + server.server;
    if (!server.version.empty()) {
      found.product = "ZooKeeper";
      if (found.version.empty()) found.version = server.version;
      found.settings.push_back({server.server, server.mode + " " + server.version});
    } else {
      ++silent;
      found.findings.push_back({Severity::note, "zookeeper-silent",
                                server.server + ": " + server.problem,
                                "4lw.commands.whitelist=srvr in its zoo.cfg, if it is well"});
    }
    look_for_defects(server, found.findings);
  }
  found.server = "ZooKeeper at " + where;
  const auto is = [&](const char* mode) {
    return std::any_of(servers.begin(), servers.end(),
                       [&](const ServerFacts& server) { return server.mode == mode; });
  };
  if (is("standalone") && servers.size() > 1) {
    found.findings.push_back({Severity::unfit, "zookeeper-no-ensemble",
                              "the URL names several servers, and one of them stands alone: each "
                              "would grant the same lock",
                              "name the members of one ensemble (server.N=… in each zoo.cfg)"});
  } else if (is("standalone")) {
    found.findings.push_back({Severity::note, "zookeeper-standalone",
                              "there is one server: locks are as available as that one", ""});
  } else if (silent == 0) {
    found.findings.push_back({Severity::good, "zookeeper-ensemble",
                              "it is an ensemble, and all that are named answer", ""});
  }
  return found;
}

Task<Result<std::vector<ServerFacts>>> ask_facts(Runtime& runtime, const Settings& settings,
                                                 Deadline deadline) {
  std::vector<ServerFacts> servers;
  bool answered = false;
  for (const Endpoint& endpoint : settings.endpoints) {
    const Deadline limit = deadline.sooner(runtime.now() + settings.connect_timeout);
    const auto when_closed = [](const std::string&) { return false; };
    const Result<std::string> answer =
        co_await ask_once(runtime, endpoint, settings.tls, "srvr", when_closed, limit);
    if (answer) {
      servers.push_back(parse_srvr(*answer, endpoint.display()));
      answered = true;
    } else {
      servers.push_back({.server = endpoint.display(), .problem = answer.message()});
    }
  }
  if (!answered) {
    co_return Failure(Code::unreachable,
                      "ZooKeeper at " + servers.front().server + ": " + servers.front().problem);
  }
  co_return servers;
}

}  // namespace holdfast::internal::zookeeper
