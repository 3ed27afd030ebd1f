#include "pass.h"

#include <algorithm>
#include <ctime>
#include <sstream>
#include <stdexcept>

#include "samples.h"

namespace holdfast::bench {

std::int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

std::string to_line(const std::vector<Pass>& passes) {
  std::ostringstream line;
  line << passes.size();
  for (const Pass& pass : passes) {
    line << ' ' << pass.thread << ' ' << pass.asked_ns << ' ' << pass.got_ns << ' '
         << pass.released_ns;
  }
  return line.str();
}

std::vector<Pass> passes_of(const std::string& line) {
  std::istringstream words(line);
  std::size_t count = 0;
  words >> count;
  std::vector<Pass> passes;
  for (Pass pass{}; passes.size() < count;) {
    if (!(words >> pass.thread >> pass.asked_ns >> pass.got_ns >> pass.released_ns)) {
      throw std::runtime_error("no list of passes: " + line.substr(0, 80));
    }
    passes.push_back(pass);
  }
  return passes;
}

HandOffs hand_offs(std::vector<Pass> passes, std::int64_t from_ns, std::int64_t to_ns) {
  std::ranges::sort(passes, {}, &Pass::got_ns);
  std::vector<double> gaps_us;
  std::size_t changes = 0;
  for (std::size_t i = 1; i < passes.size(); ++i) {
    const Pass& former = passes[i - 1];
    const Pass& next = passes[i];
    if (next.got_ns < former.released_ns) throw std::runtime_error("two held the lock at once");
    const bool same = next.worker == former.worker && next.thread == former.thread;
    if (same || next.got_ns < from_ns || next.got_ns >= to_ns) continue;
    ++changes;
    if (next.asked_ns > former.released_ns) continue;
    gaps_us.push_back(static_cast<double>(next.got_ns - former.released_ns) / 1e3);
  }
  const double per_s = static_cast<double>(changes) / (static_cast<double>(to_ns - from_ns) / 1e9);
  if (gaps_us.empty()) return {.per_s = per_s, .p50_us = 0, .p99_us = 0, .p999_us = 0, .count = 0};
  return {.per_s = per_s,
          .p50_us = quantile(gaps_us, 0.5),
          .p99_us = quantile(gaps_us, 0.99),
          .p999_us = quantile(gaps_us, 0.999),
          .count = gaps_us.size()};
}

}  // namespace holdfast::bench
