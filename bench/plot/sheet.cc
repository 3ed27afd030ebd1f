#include <algorithm>

#include "lab/svg.h"
#include "panel.h"

namespace holdfast::bench {

namespace {

constexpr double kMargin = 18;
constexpr double kTitle = 44;  // of the sheet
constexpr double kHead = 46;   // title and note of a panel

// Colours stand for roles: ours is the strong one; met and missed differ in lightness as well.
constexpr const char* kStyle = R"(<style>
.bp{--bg:#ffffff;--ink:#1d2433;--soft:#5d6675;--line:#dfe4eb;--ours:#2f6fde;--raw:#8b93a1;
--peer:#b9c6d8;--bar:#c2410c;--met:#1a8a4a;--missed:#d9603b;--panel:#f7f9fc}
@media (prefers-color-scheme:dark){.bp{--bg:#12161d;--ink:#e7ebf2;--soft:#a3adbb;--line:#2b323d;
--ours:#6ea3ff;--raw:#7d8796;--peer:#46546a;--bar:#ffb454;--met:#45b877;--missed:#e8795a;
--panel:#171c25}}
.bp text{font:12px system-ui,sans-serif;fill:var(--ink)}
.bp .soft{fill:var(--soft);font-size:11px}.bp .t{font-size:17px;font-weight:600}
.bp .h{font-size:13px;font-weight:600}.bp .us{font-weight:600}.bp .bart{fill:var(--bar);font-size:11px}
</style>
)";

double row_height(const std::vector<Panel>& panels, std::size_t first, std::size_t columns) {
  double height = 0;
  for (std::size_t i = first; i < std::min(first + columns, panels.size()); ++i) {
    height = std::max(height, panels[i].height);
  }
  return kHead + height + kMargin;
}

}  // namespace

std::string draw_sheet(const std::string& title, const std::vector<Panel>& panels,
                       std::size_t columns) {
  columns = std::min(columns, panels.size());
  const double each = columns == 1 ? panels.front().width : kPanelWidth;
  const double width = kMargin + static_cast<double>(columns) * (each + kMargin);
  std::string body;
  double top = kTitle;
  for (std::size_t first = 0; first < panels.size(); first += columns) {
    const double height = row_height(panels, first, columns);
    for (std::size_t i = first; i < std::min(first + columns, panels.size()); ++i) {
      const double left = kMargin + static_cast<double>(i - first) * (each + kMargin);
      body += "<g transform=\"translate(" + lab::number(left) + " " + lab::number(top) + ")\">\n";
      body += lab::box(0, 0, each, height - 6, "var(--panel)", 6);
      body += lab::text_at(12, 20, panels[i].title, "h");
      body += lab::text_at(12, 36, panels[i].note, "soft");
      body += "<g transform=\"translate(0 " + lab::number(kHead) + ")\">\n" + panels[i].body +
              "</g></g>\n";
    }
    top += height;
  }
  const double height = top + kMargin / 2;
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bp\" viewBox=\"0 0 " +
         lab::number(width) + " " + lab::number(height) + "\"" + lab::attribute("width", width) +
         lab::attribute("height", height) + " role=\"img\">\n<title>" + lab::escaped(title) +
         "</title>\n" + kStyle + "<rect width=\"100%\" height=\"100%\" fill=\"var(--bg)\"/>\n" +
         lab::text_at(kMargin, 28, title, "t") + body + "</svg>\n";
}

}  // namespace holdfast::bench
