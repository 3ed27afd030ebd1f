// A report as JSON: rows, comparisons and curves with every repetition.
#pragma once

#include <nlohmann/json.hpp>

#include "report.h"

namespace holdfast::bench {

using Json = nlohmann::ordered_json;

Json to_json(const Row& row);
Json to_json(const Comparison& comparison);
Json to_json(const Curve& curve);

}  // namespace holdfast::bench
