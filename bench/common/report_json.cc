#include "report_json.h"

#include <algorithm>

#include "samples.h"

namespace holdfast::bench {

namespace {

// Some digits say as much as all, and can be read.
double rounded(double value) { return std::stod(format("%.5g", value)); }

Json repetitions(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double value : values) all.push_back(rounded(value));
  return all;
}

Json spread(const std::vector<double>& values) {
  if (values.empty()) return Json::object();
  const auto [low, high] = std::ranges::minmax(values);
  return {{"median", rounded(median(values))},
          {"low", rounded(low)},
          {"high", rounded(high)},
          {"repetitions", repetitions(values)}};
}

Json to_json(const Target& target, const std::vector<double>& values) {
  Json all{{target.side == Target::Side::at_least ? "at_least" : "at_most", target.limit}};
  if (!values.empty()) all["met"] = target.met(median(values));
  return all;
}

Json to_json(const Contestant& contestant, const Comparison& comparison) {
  Json all{{"client", contestant.name}, {"role", to_string(contestant.role)}};
  all.update(spread(contestant.values));
  for (const auto& [name, values] : contestant.figures) all["figures"][name] = spread(values);
  if (contestant.role != Role::ours && !contestant.values.empty()) {
    all["ours_to_it"] = spread(ratios_to(comparison, contestant.name));
  }
  if (!contestant.note.empty()) all["note"] = contestant.note;
  return all;
}

}  // namespace

Json to_json(const Row& row) {
  Json all{{"name", row.name}, {"what", row.what}};
  if (!row.unit.empty()) all["unit"] = row.unit;
  all.update(spread(row.values));
  if (row.target) all["target"] = to_json(*row.target, row.values);
  all["detail"] = row.detail;
  for (const auto& [key, figure] : row.figures) all["figures"][key] = rounded(figure);
  return all;
}

Json to_json(const Comparison& comparison) {
  Json all{{"name", comparison.name},
           {"what", comparison.what},
           {"unit", comparison.unit},
           {"better", comparison.better == Target::Side::at_least ? "more" : "less"},
           {"detail", comparison.detail},
           {"clients", Json::array()},
           {"targets", Json::array()}};
  for (const Contestant& each : comparison.contestants) {
    all["clients"].push_back(to_json(each, comparison));
  }
  for (const Target& target : comparison.targets) {
    const std::vector<double> values = ratios_to(comparison, target.of);
    Json json{{"of", target.of}};
    json.update(to_json(target, values));
    json.update(spread(values));
    all["targets"].push_back(json);
  }
  return all;
}

Json to_json(const Curve& curve) {
  Json all{{"name", curve.name}, {"what", curve.what},     {"x", curve.x_what},
           {"unit", curve.unit}, {"detail", curve.detail}, {"series", Json::array()}};
  for (const Curve::Series& each : curve.series) {
    Json series{{"client", each.name}, {"role", to_string(each.role)}, {"points", Json::array()}};
    for (const Curve::Point& point : each.points) {
      Json json{{"x", point.x}};
      json.update(spread(point.values));
      series["points"].push_back(json);
    }
    series["growth"] = spread(growth(each));
    if (each.role == Role::ours) {
      for (const double most : curve.growth_at_most) {
        series["target"] = to_json(at_most(most), growth(each));
      }
    }
    all["series"].push_back(series);
  }
  return all;
}

}  // namespace holdfast::bench
