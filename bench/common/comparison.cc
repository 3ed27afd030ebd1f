#include "comparison.h"

#include <algorithm>

namespace holdfast::bench {

namespace {

std::vector<double> divided(const std::vector<double>& of, const std::vector<double>& by) {
  std::vector<double> all;
  for (std::size_t i = 0; i < std::min(of.size(), by.size()); ++i) all.push_back(of[i] / by[i]);
  return all;
}

std::vector<double> best_peers(const Comparison& comparison) {
  std::vector<double> best;
  for (const Contestant& each : comparison.contestants) {
    if (each.role != Role::peer) continue;
    if (best.empty()) best = each.values;
    for (std::size_t i = 0; i < std::min(best.size(), each.values.size()); ++i) {
      best[i] = comparison.better == Target::Side::at_least ? std::max(best[i], each.values[i])
                                                            : std::min(best[i], each.values[i]);
    }
  }
  return best;
}

}  // namespace

const char* to_string(Role role) {
  switch (role) {
    case Role::ours: return "ours";
    case Role::raw: return "raw";
    case Role::peer: return "peer";
  }
  return "";
}

std::vector<double> ratios_to(const Comparison& comparison, const std::string& of) {
  const auto ours = std::ranges::find(comparison.contestants, Role::ours, &Contestant::role);
  if (ours == comparison.contestants.end()) return {};
  if (of.empty()) return ours->values;
  if (of == kBestPeer) return divided(ours->values, best_peers(comparison));
  const auto other = std::ranges::find(comparison.contestants, of, &Contestant::name);
  if (other == comparison.contestants.end()) return {};
  return divided(ours->values, other->values);
}

std::vector<double> growth(const Curve::Series& series) {
  if (series.points.empty()) return {};
  return divided(series.points.back().values, series.points.front().values);
}

}  // namespace holdfast::bench
