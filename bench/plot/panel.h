// Panel: one diagram, with its own size; and Sheet: several of them on one picture.
#pragma once

#include <string>
#include <vector>

#include "run_file.h"

namespace holdfast::bench {

inline constexpr double kPanelWidth = 560;

struct Panel {
  std::string title;
  std::string note;            // below the title, smaller
  std::string body;            // SVG, from (0, 0)
  double height;               // of the body
  double width = kPanelWidth;  // another one only where a sheet has one column
};

// How far each target of a group is reached, as horizontal bars beside a line at 1.
Panel draw_verdicts(const std::string& group, const std::vector<Verdict>& all);
// The clients of a comparison as horizontal bars; what ours has to reach is a line.
Panel draw_clients(const Json& comparison);
// A figure as something grows, both axes logarithmic.
Panel draw_curve(const Json& curve);

// A picture of its own, readable on light and dark pages. `columns` panels beside each other.
std::string draw_sheet(const std::string& title, const std::vector<Panel>& panels,
                       std::size_t columns);

}  // namespace holdfast::bench
