// The two diagrams of horizontal bars.
#include <algorithm>

#include "axis.h"
#include "lab/svg.h"
#include "panel.h"

namespace holdfast::bench {

namespace {

constexpr double kRow = 21;
constexpr double kBar = 14;
constexpr double kFoot = 26;  // the numbers of the axis

// A logarithmic axis shows more where values are far apart.
constexpr double kFarApart = 40;

std::string grid(const Axis& axis, double height) {
  std::string svg;
  for (const double tick : axis.ticks()) {
    const double x = axis.place(tick);
    svg += lab::line(x, 0, x, height, "var(--line)");
    svg += lab::text_at(x, height + 14, tick == 0 ? "0" : short_figure(tick), "soft", "middle");
  }
  return svg;
}

std::string cut(const std::string& words, std::size_t most) {
  // Of what can be read, in code points; our own words have no others.
  return words.size() <= most ? words : words.substr(0, most - 1) + "…";
}

const char* color_of(const std::string& role) {
  if (role == "ours") return "var(--ours)";
  return role == "raw" ? "var(--raw)" : "var(--peer)";
}

struct Goal {
  double value;
  std::string words;
};

// The limit of a target, in the unit of the diagram.
std::vector<Goal> goals_of(const Json& comparison) {
  const bool more = comparison.at("better") == "more";
  std::vector<Goal> goals;
  for (const Json& target : comparison.at("targets")) {
    const auto of = target.at("of").get<std::string>();
    const double limit =
        target.at(target.contains("at_least") ? "at_least" : "at_most").get<double>();
    double unit = of.empty() ? 1 : 0;
    for (const Json& client : comparison.at("clients")) {
      if (!client.contains("median")) continue;
      const double value = client.at("median").get<double>();
      if (client.at("client") == of) unit = value;
      if (of == "best peer" && client.at("role") == "peer") {
        unit = unit == 0 ? value : more ? std::max(unit, value) : std::min(unit, value);
      }
    }
    if (unit == 0) continue;
    goals.push_back(
        {limit * unit, "target: " + short_figure(limit) + (of.empty() ? "" : " of " + of)});
  }
  return goals;
}

}  // namespace

Panel draw_verdicts(const std::string& group, const std::vector<Verdict>& all) {
  constexpr double kWidth = 860;
  constexpr double kLabels = 470;
  constexpr double kFigures = 150;  // room for words at the right
  const Axis axis(0.1, 10, kLabels, kWidth - kFigures, true);
  const double height = kRow * static_cast<double>(all.size());
  std::string svg = grid(axis, height);
  double y = 0;
  for (const Verdict& each : all) {
    const double from = axis.place(0.1), to = axis.place(each.reach());
    svg += lab::text_at(12, y + 14, cut(each.what, 66), each.met ? "" : "us");
    svg += lab::box(from, y + 3, to - from, kBar, each.met ? "var(--met)" : "var(--missed)");
    svg += lab::text_at(kWidth - kFigures + 6, y + 14,
                        short_figure(each.value) + (each.at_least ? " ≥ " : " ≤ ") +
                            short_figure(each.limit) + (each.met ? "" : " ✗"),
                        "soft");
    y += kRow;
  }
  svg += lab::line(axis.place(1), -4, axis.place(1), height + 2, "var(--bar)", "4 3", 1.6);
  const auto met = std::ranges::count(all, true, &Verdict::met);
  return {
      .title = group + ": " + std::to_string(met) + " of " + std::to_string(all.size()) +
               " targets are reached",
      .note = "how far: the dashed line is the target, to its right it is exceeded (logarithmic)",
      .body = svg,
      .height = height + kFoot,
      .width = kWidth};
}

Panel draw_clients(const Json& comparison) {
  constexpr double kLabels = 142;
  constexpr double kFigures = 132;
  std::vector<Goal> goals = goals_of(comparison);
  double low = 1e300, high = 0;
  std::size_t rows = 0;
  for (const Json& client : comparison.at("clients")) {
    if (!client.contains("median")) continue;
    const double value = client.at("median").get<double>();
    low = std::min(low, value);
    high = std::max(high, value);
    ++rows;
  }
  for (const Goal& goal : goals) high = std::max(high, goal.value);
  const bool logarithmic = low > 0 && high / low > kFarApart;
  const Axis axis(logarithmic ? std::pow(10, std::floor(std::log10(low)) - 0.3) : 0, high * 1.04,
                  kLabels, kPanelWidth - kFigures, logarithmic);
  const double height = kRow * static_cast<double>(rows) + 15 * static_cast<double>(goals.size());
  std::string svg = grid(axis, height);
  double y = 15 * static_cast<double>(goals.size());
  for (const Json& client : comparison.at("clients")) {
    if (!client.contains("median")) continue;
    const bool ours = client.at("role") == "ours";
    const double value = client.at("median").get<double>();
    const double to = axis.place(value);
    svg += lab::text_at(12, y + 14, cut(client.at("client"), 18), ours ? "us" : "");
    svg += lab::box(kLabels, y + 3, to - kLabels, kBar, color_of(client.at("role")));
    // The spread, as a thin line on the bar's end.
    const double first = axis.place(client.at("low").get<double>());
    const double last = axis.place(client.at("high").get<double>());
    if (last - first > 1) svg += lab::line(first, y + 10, last, y + 10, "var(--ink)");
    std::string words = short_figure(value);
    if (client.contains("ours_to_it") && client.at("ours_to_it").contains("median")) {
      words +=
          " · ours " + short_figure(client.at("ours_to_it").at("median").get<double>()) + " of it";
    }
    svg += lab::text_at(kPanelWidth - kFigures + 6, y + 14, words, ours ? "us" : "soft");
    y += kRow;
  }
  double words_y = 11;
  for (const Goal& goal : goals) {
    const double x = axis.place(goal.value);
    svg += lab::line(x, words_y - 8, x, height, "var(--bar)", "4 3", 1.6);
    const bool left = x > kPanelWidth * 0.6;
    svg += lab::text_at(left ? x - 5 : x + 5, words_y, goal.words, "bart", left ? "end" : "start");
    words_y += 15;
  }
  return {.title = cut(comparison.at("what").get<std::string>(), 84),
          .note = comparison.at("unit").get<std::string>() + ", " +
                  comparison.at("better").get<std::string>() + " is better" +
                  (logarithmic ? " (logarithmic)" : ""),
          .body = svg,
          .height = height + kFoot};
}

}  // namespace holdfast::bench
