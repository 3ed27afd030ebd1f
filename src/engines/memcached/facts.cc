#include "engines/memcached/facts.h"

#include <charconv>

#include "base/known_server.h"
#include "wire/ask_once.h"

namespace holdfast::internal::memcached {

std::map<std::string, std::string> parse_stats(std::string_view answer) {
  constexpr std::string_view kStat = "STAT ";
  std::map<std::string, std::string> values;
  while (!answer.empty()) {
    const std::size_t end = answer.find("\r\n");
    std::string_view line = answer.substr(0, end);
    answer.remove_prefix(end == std::string_view::npos ? answer.size() : end + 2);
    if (!line.starts_with(kStat)) continue;
    line.remove_prefix(kStat.size());
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    values.emplace(line.substr(0, blank), line.substr(blank + 1));
  }
  return values;
}

Examination examined(const Facts& facts) {
  const auto value = [&](const char* name) {
    const auto place = facts.values.find(name);
    return place == facts.values.end() ? std::string() : place->second;
  };
  Examination found;
  found.product = facts.values.empty() ? "" : "memcached";
  found.version = value("version");
  found.server = "memcached at " + facts.server;
  for (const char* name : {"limit_maxbytes", "bytes", "curr_items", "evictions", "uptime",
                           "maxconns", "lru_crawler", "item_size_max"}) {
    if (const std::string text = value(name); !text.empty()) found.settings.push_back({name, text});
  }
  found.findings.push_back({Severity::note, "memcached-cache",
                            "a cache forgets: after a restart, or when its memory is full, a lock "
                            "that is held is granted again",
                            "use another engine where that does harm"});
  // "evictions" of `stats` comes first: how many there were.
  if (const std::string evicted = value("evictions"); !evicted.empty() && evicted != "0") {
    found.findings.push_back({Severity::warning, "memcached-evictions",
                              "it has evicted " + evicted +
                                  " items since it was started: locks may have been among them",
                              "give it more memory (-m), or use a server of its own for locks"});
  } else if (!evicted.empty()) {
    found.findings.push_back(
        {Severity::good, "memcached-evictions", "it has evicted nothing since it was started", ""});
  }
  if (value("lru_crawler") == "no") {
    found.findings.push_back({Severity::note, "memcached-crawler",
                              "its LRU crawler is off: `holdfast ls` cannot list locks",
                              "start it without -o no_lru_crawler"});
  }
  if (facts.clock) {
    found.clock = facts.clock;
    found.findings.push_back(clock_finding(*facts.clock, false));
  }
  return found;
}

Task<Result<Facts>> ask_facts(Runtime& runtime, const Settings& settings, Deadline deadline) {
  const auto two_lists = [](const std::string& heard) {
    const std::size_t first = heard.find("END\r\n");
    return first != std::string::npos && heard.find("END\r\n", first + 1) != std::string::npos;
  };
  const WallTime asked = runtime.wall();
  const Result<std::string> answer =
      co_await ask_once(runtime, settings.endpoint, nullptr, "stats\r\nstats settings\r\n",
                        two_lists, deadline.sooner(runtime.now() + settings.connect_timeout));
  const std::string where = settings.endpoint.display();
  if (!answer) co_return Failure(answer.code(), "memcached at " + where + ": " + answer.message());
  Facts facts{.server = where, .values = parse_stats(*answer)};
  if (facts.values.empty()) {
    co_return Failure(Code::misconfigured,
                      "memcached at " + where + ": it gives no statistics; is it memcached?");
  }
  const std::string& time = facts.values["time"];
  std::int64_t seconds = 0;
  std::from_chars(time.data(), time.data() + time.size(), seconds);
  if (seconds != 0) {
    facts.clock = clock_difference(std::chrono::seconds(seconds), asked, runtime.wall(),
                                   std::chrono::seconds(1));
  }
  co_return facts;
}

}  // namespace holdfast::internal::memcached
