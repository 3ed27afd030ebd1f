// Svg: the pieces that our pictures are made of. Words are escaped.
#pragma once

#include <algorithm>
#include <string>

#include "lab/markup.h"

namespace holdfast::lab {

inline std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + number(value) + "\"";
}

inline std::string text_at(double x, double y, const std::string& words,
                           const std::string& kind = "", const char* anchor = "start") {
  return "<text" + attribute("x", x) + attribute("y", y) +
         (kind.empty() ? "" : " class=\"" + kind + "\"") +
         (anchor == std::string("start") ? "" : std::string(" text-anchor=\"") + anchor + "\"") +
         ">" + escaped(words) + "</text>\n";
}

inline std::string line(double x1, double y1, double x2, double y2, const std::string& color,
                        const char* dash = nullptr, double width = 1) {
  return "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
         attribute("y2", y2) + " stroke=\"" + color + "\"" + attribute("stroke-width", width) +
         (dash ? std::string(" stroke-dasharray=\"") + dash + "\"" : "") + "/>\n";
}

inline std::string box(double x, double y, double width, double height, const std::string& fill,
                       double round = 3) {
  return "<rect" + attribute("x", x) + attribute("y", y) +
         attribute("width", std::max(width, 2.0)) + attribute("height", height) +
         attribute("rx", round) + " fill=\"" + fill + "\"/>\n";
}

}  // namespace holdfast::lab
