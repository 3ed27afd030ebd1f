#include "lab/timeline.h"

#include <algorithm>
#include <set>

#include "lab/svg.h"
#include "lab/timeline_plan.h"

namespace holdfast::lab {
namespace {

constexpr double kLeft = 112;     // names of lanes and of resources
constexpr double kRight = 96;     // room for the last words
constexpr double kTop = 46;       // the title
constexpr double kFaults = 58;    // what is done to servers: three rows of text
constexpr double kLane = 104;     // a client that works on resources
constexpr double kFlatLane = 52;  // one that only takes the lock
constexpr double kBar = 24;       // its hold
constexpr double kRow = 18;       // one kind of resource
constexpr double kFoot = 64;      // figures and legend

constexpr const char* kPictureStyle = R"(<style>
.tl{--bg:#ffffff;--ink:#1d2433;--soft:#5d6675;--line:#c9d0da;--a:#2f6fde;--b:#0f8f6e;--c:#8a55d7;
--d:#b0671a;--bad:#d12f2f;--good:#1a8a4a;--fault:#c26a00;--pause:#8b93a1;--band:#d12f2f22;--on:#ffffff}
@media (prefers-color-scheme:dark){.tl{--bg:#12161d;--ink:#e7ebf2;--soft:#a3adbb;--line:#39414e;
--a:#6ea3ff;--b:#45c9a3;--c:#b78df5;--d:#e0a35e;--bad:#ff6b6b;--good:#55cf85;--fault:#ffb454;
--pause:#aab3c0;--band:#ff6b6b2e;--on:#0b1018}}
.tl text{font:12px system-ui,sans-serif;fill:var(--ink)}
.tl .soft{fill:var(--soft);font-size:11px}.tl .t{font-size:15px;font-weight:600}
.tl .who{font-size:14px;font-weight:600}.tl .on{fill:var(--on);font-weight:600}
.tl .badt{fill:var(--bad);font-weight:600}.tl .faultt{fill:var(--fault)}.tl .goodt{fill:var(--good)}
</style>
)";

std::string seconds(Duration span) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(span).count());
  return text;
}

class Picture {
 public:
  Picture(const History& history, const Diagnosis& finding, std::size_t max_events)
      : finding_(finding), plan_(history, finding, max_events) {
    for (const LostUpdate& update : finding.lost_updates) {
      if (update.resource.sheet == plan_.sheet() && !update.resource.log)
        harmful_.insert(update.at);
    }
  }

  std::string draw(const std::string& title) const {
    const double height = top_of(plan_.lanes().size()) + kFoot;  // of the lanes and the axis
    const double whole = height + 14;
    const double width = std::max(kLeft + plan_.width() + kRight, 640.0);
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tl\" viewBox=\"0 0 " +
                      number(width) + " " + number(whole) + "\"" + attribute("width", width) +
                      attribute("height", whole) + " role=\"img\">\n<title>" + escaped(title) +
                      "</title>\n" + kPictureStyle;
    svg += "<rect width=\"100%\" height=\"100%\" fill=\"var(--bg)\"/>\n";
    svg += text_at(14, 26, title, "t");
    if (plan_.empty()) return svg + text_at(14, 60, "nothing happened") + "</svg>\n";
    svg += bands(height);
    svg += faults(height);
    for (std::size_t i = 0; i < plan_.lanes().size(); ++i) svg += lane(i);
    return svg + axis(width, height) + "</svg>\n";
  }

 private:
  double x(BootTime moment) const { return kLeft + plan_.x_of(moment); }
  bool works(const std::string& who) const {
    return std::ranges::any_of(plan_.events(), [&](const Event& event) {
      return event.who == who && !event.resource.empty();
    });
  }
  double first_top() const {
    const bool any = std::ranges::any_of(
        plan_.events(), [](const Event& event) { return event.kind == EventKind::fault; });
    return any ? kTop + kFaults : kTop + 8;
  }
  double top_of(std::size_t lane) const {
    double top = first_top();
    for (std::size_t i = 0; i < lane; ++i) top += works(plan_.lanes()[i]) ? kLane : kFlatLane;
    return top;
  }
  static std::string color_of(std::size_t lane) {
    static constexpr const char* kColors[] = {"var(--a)", "var(--b)", "var(--c)", "var(--d)"};
    return kColors[lane % std::size(kColors)];
  }

  // Where two believe at once.
  std::string bands(double height) const {
    std::string svg;
    double labelled = -1e9;  // so far
    for (const Overlap& overlap : finding_.overlaps) {
      const BootTime from = std::max(overlap.first.from, overlap.second.from);
      const BootTime until = std::min(overlap.first.until, overlap.second.until);
      if (until < plan_.begin() || from > plan_.end()) continue;
      svg += box(x(from), first_top() - 4, x(until) - x(from), height - first_top() - kFoot + 8,
                 "var(--band)", 0);
      if (x(from) < labelled) continue;
      labelled = x(from) + 78;
      svg += text_at(x(from) + 4, height - kFoot + 2, "two holders", "badt");
    }
    return svg;
  }

  std::string faults(double height) const {
    std::string svg;
    if (first_top() > kTop + 8) svg += text_at(14, kTop + 14, "faults", "soft");
    double last[3] = {-1e9, -1e9, -1e9};  // where the text of each row ends
    for (const Event& event : plan_.events()) {
      if (event.kind != EventKind::fault && event.kind != EventKind::heal) continue;
      const bool bad = event.kind == EventKind::fault;
      const double at = x(event.at);
      svg += line(at, kTop + 4, at, height - kFoot, bad ? "var(--fault)" : "var(--good)", "3 4");
      std::size_t row = 0;
      while (row < 2 && last[row] > at) ++row;
      const std::string words = event.text.empty() ? "healed" : event.text;
      last[row] = at + 7.0 * static_cast<double>(words.size()) + 10;
      svg += text_at(at + 4, kTop + 14 + 16 * static_cast<double>(row), words,
                     bad ? "faultt" : "goodt");
    }
    return svg;
  }

  std::string lane(std::size_t index) const {
    const std::string& who = plan_.lanes()[index];
    const double top = top_of(index);
    const std::string color = color_of(index);
    std::string svg = line(8, top - 6, kLeft + plan_.width() + kRight, top - 6, "var(--line)");
    svg += text_at(14, top + 17, who, "who");
    static constexpr const char* kRows[] = {"no fence", "write fence", "full fence"};
    for (std::size_t row = 0; works(who) && row < 3; ++row) {
      const double y = row_y(top, row);
      svg += text_at(kLeft - 12, y + 4, kRows[row], "soft", "end");
      svg += line(kLeft, y, kLeft + plan_.width() + 8, y, "var(--line)", "1 5");
    }
    svg += waits(who, top) + holds(who, top, color) + pauses(who, top);
    double flagged = -1e9;  // so far its words go
    for (const Event& event : plan_.events()) {
      if (event.who == who) svg += mark(event, top, color, flagged);
    }
    return svg;
  }

  static double row_y(double top, std::size_t row) {
    return top + kBar + 16 + kRow * static_cast<double>(row);
  }

  std::string waits(const std::string& who, double top) const {
    std::string svg;
    std::optional<BootTime> since;
    for (const Event& event : plan_.events()) {
      if (event.who != who) continue;
      if (event.kind == EventKind::asked) since = event.at;
      const bool over = event.kind == EventKind::granted || event.kind == EventKind::refused;
      if (!over || !since) continue;
      svg += line(x(*since), top + kBar / 2, x(event.at), top + kBar / 2, "var(--soft)", "2 3", 2);
      // The token of a short hold stands there, too.
      if (x(event.at) - x(*since) > 84) svg += text_at(x(*since) + 2, top + 8, "waits", "soft");
      since.reset();
    }
    return svg;
  }

  // Until its holder knows that it is over.
  BootTime end_of(const Belief& belief) const {
    for (const Event& event : plan_.events()) {
      if (event.who != belief.who || event.at <= belief.from) continue;
      switch (event.kind) {
        case EventKind::lost:
        case EventKind::doubted:
        case EventKind::releasing:
        case EventKind::released:
        case EventKind::died: return event.at;
        default: break;
      }
    }
    return std::max(belief.until, plan_.end());
  }

  std::string holds(const std::string& who, double top, const std::string& color) const {
    std::string svg;
    for (const Belief& belief : finding_.beliefs) {
      if (belief.who != who || belief.until < plan_.begin() || belief.from > plan_.end()) continue;
      const double from = x(belief.from);
      const double width = std::max(x(belief.until) - from, 6.0);
      svg += "<g opacity=\"0.3\">" +
             box(from, top + 7, x(end_of(belief)) - from, kBar - 14, color) + "</g>\n";
      svg += box(from, top, width, kBar, color);
      if (belief.token == 0) continue;
      // The last digits tell tokens apart; those that are made of a clock have sixteen.
      const std::string token = std::to_string(belief.token);
      const std::string shown = token.size() > 6 ? "…" + token.substr(token.size() - 5) : token;
      if (width > 60)
        svg += text_at(from + 5, top + 16, shown, "on");
      else
        svg += text_at(from - 4, top + 8, shown, "soft", "end");
    }
    return svg;
  }

  std::string pauses(const std::string& who, double top) const {
    std::string svg;
    std::optional<Event> since;
    const auto draw = [&](BootTime until) {
      svg += box(x(since->at), top + 3, x(until) - x(since->at), kBar - 6, "var(--pause)");
      svg += text_at(x(since->at) + 5, top + 16,
                     since->text.empty() ? "paused" : "paused " + since->text, "on");
    };
    for (const Event& event : plan_.events()) {
      if (event.who != who) continue;
      if (event.kind == EventKind::paused) since = event;
      if (event.kind != EventKind::resumed || !since) continue;
      draw(event.at);
      since.reset();
    }
    if (since) draw(plan_.end());
    return svg;
  }

  std::string mark(const Event& event, double top, const std::string& color,
                   double& flagged) const {
    const double at = x(event.at);
    const auto flag = [&](const std::string& words, const char* kind) {
      // Words that would stand upon those before them go below.
      const double y = top + kBar + (at < flagged ? 17 : 6);
      flagged = std::max(flagged, at + 6.5 * static_cast<double>(words.size()) + 8);
      return line(at, top - 2, at, top + kBar + 2, "var(--soft)", nullptr, 1.5) +
             text_at(at + 3, y, words, kind);
    };
    switch (event.kind) {
      case EventKind::lost: return flag("lost()", "badt");
      case EventKind::doubted: return flag("held: no", "soft");
      case EventKind::released:
        return flag(event.text.empty() ? "released" : "release: " + event.text, "soft");
      case EventKind::died: return flag("killed", "badt");
      case EventKind::refused: return flag(event.text, "badt");
      case EventKind::stranded: return flag("not granted", "badt");
      case EventKind::probed: return flag("granted", "goodt");
      case EventKind::sent: return flag("write sent", "soft");
      default: return at_resource(event, top, at, color);
    }
  }

  std::string at_resource(const Event& event, double top, double at,
                          const std::string& color) const {
    const auto id = ResourceId::parse(event.resource);
    if (!id) return "";
    const double y = row_y(top, static_cast<std::size_t>(id->fence));
    const std::string value = std::to_string(event.value);
    if (event.kind == EventKind::read) {
      return circle(at, y, 5, "var(--bg)", color) + text_at(at + 8, y + 4, "r" + value, "soft");
    }
    if (event.kind == EventKind::wrote) {
      const bool harm = harmful_.contains(event.at);
      const std::string paint = harm ? "var(--bad)" : color;
      return circle(at, y, 5, paint, paint) +
             text_at(at + 8, y + 4, "w" + value + (harm ? " lost update" : ""), harm ? "badt" : "");
    }
    if (event.kind != EventKind::barred) return text_at(at - 3, y + 4, "?", "badt");
    return line(at - 5, y - 5, at + 5, y + 5, "var(--bad)", nullptr, 2) +
           line(at - 5, y + 5, at + 5, y - 5, "var(--bad)", nullptr, 2) +
           text_at(at + 8, y + 4, "refused", "badt");
  }

  static std::string circle(double x, double y, double r, const std::string& fill,
                            const std::string& stroke) {
    return "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", r) + " fill=\"" +
           fill + "\" stroke=\"" + stroke + "\" stroke-width=\"2\"/>\n";
  }

  std::string axis(double width, double height) const {
    const double y = height - kFoot + 10;
    std::string svg = line(kLeft, y, width - kRight + 8, y, "var(--soft)");
    for (const BootTime moment : plan_.ticks()) {
      svg += line(x(moment), y - 3, x(moment), y + 3, "var(--soft)");
      svg += text_at(x(moment), y + 16, seconds(moment - plan_.begin()), "soft", "middle");
    }
    svg += text_at(
        14, height - 12,
        "bar: acts on its lock, with its token; pale: has not given it up · r0 read 0 · w1 wrote 1",
        "soft");
    svg += text_at(14, height + 4,
                   "order of steps: " + (plan_.sheet().empty() ? "none" : plan_.sheet()) +
                       " · time is not to scale" + (plan_.cut() ? " · part of a longer run" : ""),
                   "soft");
    return svg;
  }

  const Diagnosis& finding_;
  TimelinePlan plan_;
  std::set<BootTime> harmful_;
};

}  // namespace

std::string timeline_svg(const History& history, const Diagnosis& finding, const std::string& title,
                         std::size_t max_events) {
  return Picture(history, finding, max_events).draw(title);
}

}  // namespace holdfast::lab
