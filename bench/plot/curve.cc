#include <algorithm>

#include "axis.h"
#include "lab/svg.h"
#include "panel.h"

namespace holdfast::bench {

namespace {

constexpr double kLeft = 58;
constexpr double kRight = 104;
constexpr double kHeight = 190;
constexpr double kFoot = 40;

struct Range {
  double low = 1e300;
  double high = 0;
  void add(double value) {
    if (value <= 0) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

std::string marks(const Json& series, const Axis& across, const Axis& up, const char* color) {
  std::string svg, path;
  double x = 0, y = 0;
  for (const Json& point : series.at("points")) {
    const double value = point.at("median").get<double>();
    x = across.place(point.at("x").get<double>());
    y = up.place(value);
    path += (path.empty() ? "M" : "L") + lab::number(x) + " " + lab::number(y);
    svg += lab::line(x, up.place(point.at("low").get<double>()), x,
                     up.place(point.at("high").get<double>()), color);
    svg += lab::box(x - 4, y - 4, 8, 8, color, 4);
    svg += lab::text_at(x, y - 9, short_figure(value), "soft", "middle");
  }
  svg += lab::text_at(x + 12, y + 4, series.at("client").get<std::string>());
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + color + "\" stroke-width=\"2\"/>\n" +
         svg;
}

}  // namespace

Panel draw_curve(const Json& curve) {
  Range across_range, up_range;
  for (const Json& series : curve.at("series")) {
    for (const Json& point : series.at("points")) {
      across_range.add(point.at("x").get<double>());
      up_range.add(point.at("median").get<double>());
    }
    if (series.contains("target") && !series.at("points").empty()) {
      up_range.add(series.at("points").front().at("median").get<double>() *
                   series.at("target").at("at_most").get<double>());
    }
  }
  if (across_range.high == 0 || up_range.high == 0)
    return {.title = {}, .note = {}, .body = {}, .height = 0};
  const Axis across(across_range.low, std::max(across_range.high, across_range.low * 2), kLeft + 20,
                    kPanelWidth - kRight, true);
  const Axis up(std::pow(10, std::floor(std::log10(up_range.low))),
                std::pow(10, std::ceil(std::log10(up_range.high * 1.05))), kHeight, 6, true);
  std::string svg;
  for (const double tick : up.ticks()) {
    svg +=
        lab::line(kLeft, up.place(tick), kPanelWidth - kRight + 8, up.place(tick), "var(--line)");
    svg += lab::text_at(kLeft - 6, up.place(tick) + 4, short_figure(tick), "soft", "end");
  }
  std::string target_words;
  for (const Json& series : curve.at("series")) {
    const bool ours = series.at("role") == "ours";
    for (const Json& point : series.at("points")) {
      if (!ours) break;
      const double x = across.place(point.at("x").get<double>());
      svg += lab::text_at(x, kHeight + 16, short_figure(point.at("x").get<double>()), "soft",
                          "middle");
    }
    if (series.contains("target") && !series.at("points").empty()) {
      const double most = series.at("target").at("at_most").get<double>();
      const double y = up.place(series.at("points").front().at("median").get<double>() * most);
      svg += lab::line(kLeft, y, kPanelWidth - kRight + 8, y, "var(--bar)", "4 3", 1.6);
      svg += lab::text_at(kPanelWidth - kRight + 12, y + 4, "target: " + short_figure(most) + " ×",
                          "bart");
    }
    svg += marks(series, across, up, ours ? "var(--ours)" : "var(--raw)");
  }
  svg += lab::text_at(kLeft + 20, kHeight + 32, curve.at("x").get<std::string>(), "soft");
  return {.title = curve.at("what").get<std::string>(),
          .note = curve.at("unit").get<std::string>() + "; both axes logarithmic",
          .body = svg,
          .height = kHeight + kFoot};
}

}  // namespace holdfast::bench
