// The text format of Prometheus, version 0.0.4: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/engine.h"
#include "metrics/series.h"

namespace holdfast::internal {

// The exposed samples. The labels of each are unlike those of all others of its kind: Prometheus refuses a page on
// which a sample comes twice.
struct Snapshot {
  std::vector<Series> series;
  std::vector<EngineSeries> engines;
};

// Any bytes as the value of a label, between quotes: UTF-8, bounded, on one line. Different bytes can become the same.
std::string label_value(std::string_view bytes);
std::string engine_label(std::string_view engine);
std::string series_labels(std::string_view engine, std::string_view name, Mode mode);

std::string exposition(const Snapshot& snapshot);

}  // namespace holdfast::internal
