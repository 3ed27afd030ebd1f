#include "top/view.h"

#include <algorithm>

#include "deadlock_info.h"
#include "top/list_view.h"
#include "top/lock_view.h"
#include "top/span_text.h"

namespace holdfast::cli::top {
namespace {

// An engine that takes so long is told of; until then it only looks like a flicker.
constexpr long long kSlowMs = 2000;

constexpr const char* kHelp[] = {
    "arrows, j k       up and down; also PgUp, PgDn, Home (g), End (G)",
    "Enter             one lock: holders, waiters, what happened; Esc goes back",
    "/                 filter by a part of a name, label, owner or token; Esc ends it",
    "e                 the locks of one engine, of the next, of all",
    "w l a n           sort by waiters, longest wait, age, name; s: the next of them",
    "b                 break: take a lock from its holder; asks for the token",
    "q, Ctrl-C         quit",
    "",
    "WAIT so many wait, OLDEST the first of them for so long, HELD so long by its",
    "holder, LEFT of its time: renewed when a third of it is over. Gray: as it was",
    "when the engine last answered.",
};

Line title_line(const Browser& browser, const Canvas& canvas) {
  const Sight& sight = browser.sight();
  std::size_t locks = 0;
  std::size_t waiters = 0;
  for (const TopEngine& each : sight.engines()) {
    locks += each.locks.size();
    waiters += each.waiters;
  }
  const Choice& choice = browser.choice();
  std::string text = std::to_string(locks) + (locks == 1 ? " lock" : " locks");
  if (browser.rows().size() != locks) text = std::to_string(browser.rows().size()) + " of " + text;
  text += ", " + std::to_string(waiters) + " waiting; by " + sort_name(choice.sort);
  if (choice.engine) text += "; only " + sight.engines()[*choice.engine].name;
  if (!choice.filter.empty()) text += "; only \"" + choice.filter + '"';
  Line line = canvas.line();
  const std::string clock = clock_text(canvas.now_ms);
  const int clock_at = canvas.size.columns - static_cast<int>(clock.size());
  const int at = line.put(0, "holdfast top ", {.bold = true});
  line.put(at, std::max(0, clock_at - at - 1), text);
  if (clock_at > at) line.put(clock_at, clock, {.dim = true});
  return line;
}

std::vector<Line> deadlock_lines(const Sight& sight, const Canvas& canvas, std::size_t most) {
  std::vector<Line> lines;
  const std::size_t count = sight.deadlocks().size();
  for (std::size_t i = 0; i < count && i < most; ++i) {
    const Deadlock& deadlock = sight.deadlocks()[i];
    std::string text = deadlock.only_possible ? "possible deadlock" : "DEADLOCK";
    if (i + 1 == most && count > most) text += " (1 of " + std::to_string(count) + ")";
    Line& line = lines.emplace_back(canvas.line());
    line.put(0, text + ": " + deadlock_line(deadlock),
             {.colour = deadlock.only_possible ? Colour::yellow : Colour::red, .bold = true});
  }
  return lines;
}

std::vector<Line> trouble_lines(const Sight& sight, const Canvas& canvas) {
  std::vector<Line> lines;
  for (const TopEngine& each : sight.engines()) {
    const bool slow = each.asked_ms && canvas.now_ms - *each.asked_ms > kSlowMs;
    if (!each.failure && !slow) continue;
    std::string text = each.name + ": ";
    text += each.failure ? for_terminal(each.failure->message())
                         : "no answer for " + since_text(each.asked_ms, canvas.now_ms);
    if (each.seen_ms) text += "; last seen " + since_text(each.seen_ms, canvas.now_ms) + " ago";
    lines.emplace_back(canvas.line())
        .put(0, text, {.colour = each.failure ? Colour::red : Colour::yellow});
  }
  return lines;
}

Line keys_line(const Browser& browser, const Canvas& canvas) {
  Line line = canvas.line();
  if (!browser.message().empty()) {
    line.put(0, browser.message(), {.bold = true});
    return line;
  }
  const bool list = browser.page_mode() == Browser::Mode::list;
  std::string keys = list ? "q quit  Enter open  / filter  s sort" : "Esc back  q quit";
  if (list && browser.sight().engines().size() > 1) keys += "  e engine";
  if (!browser.read_only()) keys += "  b break";
  keys += "  ? keys";
  if (browser.mode() == Browser::Mode::help) keys = "any key goes back";
  line.put(0, keys, {.dim = true});
  return line;
}

// "type 41, Enter: takes backup from alice@db1 pid 812".
std::string choice_text(const Breaking& breaking) {
  constexpr std::size_t kMostTokens = 5;
  const auto& holders = breaking.holders;
  const std::string& name = breaking.lock.name.display();
  if (holders.size() == 1)
    return "type " + holders[0].token.str() + ", Enter: takes " + name + " from " +
           holders[0].label;
  std::string tokens;
  for (std::size_t i = 0; i < holders.size() && i < kMostTokens; ++i)
    tokens += (i == 0 ? "" : " or ") + holders[i].token.str();
  if (holders.size() > kMostTokens) tokens += " ...";
  return "type " + tokens + ", Enter: takes that share of " + name;
}

// The text being typed comes first: it is to be seen in the narrowest terminal.
Line question_line(const Browser& browser, const Canvas& canvas, std::optional<int>& cursor) {
  Line line = canvas.line();
  if (browser.mode() == Browser::Mode::filter) {
    cursor = line.put(0, "/" + browser.choice().filter);
    return line;
  }
  const Breaking& breaking = browser.breaking();
  cursor = line.put(0, "break by token: " + breaking.typed, {.bold = true});
  line.put(*cursor, "  (" + choice_text(breaking) + "; Esc: no)");
  return line;
}

std::vector<Line> help_lines(const Canvas& canvas) {
  std::vector<Line> lines;
  for (const char* text : kHelp) lines.emplace_back(canvas.line()).put(0, text);
  return lines;
}

void append(std::vector<Line>& lines, std::vector<Line> more, std::size_t most) {
  for (Line& line : more) {
    if (lines.size() < most) lines.push_back(std::move(line));
  }
}

// `most` of deadlocks, and of engines.
std::vector<Line> alarm_lines(const Sight& sight, const Canvas& canvas, std::size_t most) {
  std::vector<Line> lines = deadlock_lines(sight, canvas, most);
  append(lines, trouble_lines(sight, canvas), lines.size() + most);
  return lines;
}

std::vector<Line> page_lines(Browser& browser, const Canvas& canvas, std::size_t rows) {
  if (browser.mode() == Browser::Mode::help) return help_lines(canvas);
  return browser.page_mode() == Browser::Mode::lock ? lock_lines(browser, canvas, rows)
                                                    : list_lines(browser, canvas, rows);
}

}  // namespace

Frame draw(Browser& browser, const Canvas& canvas) {
  const auto rows = static_cast<std::size_t>(std::max(1, canvas.size.rows));
  const bool question =
      browser.mode() == Browser::Mode::filter || browser.mode() == Browser::Mode::breaking;
  const bool last = rows >= 3 || question || !browser.message().empty();
  const std::size_t body = rows - (last ? 1 : 0);
  Frame frame{{canvas.size.columns, static_cast<int>(rows)}, {}, {}};
  if (rows >= 5) frame.lines.push_back(title_line(browser, canvas));
  // At least one row for the locks.
  append(frame.lines, alarm_lines(browser.sight(), canvas, std::max<std::size_t>(1, rows / 4)),
         body > 1 ? body - 1 : 0);
  append(frame.lines, page_lines(browser, canvas, body - frame.lines.size()), body);
  while (frame.lines.size() < body) frame.lines.push_back(canvas.line());
  if (last && question) {
    std::optional<int> cursor;
    frame.lines.push_back(question_line(browser, canvas, cursor));
    const int end = std::max(0, canvas.size.columns - 1);
    frame.cursor = Frame::Cursor{std::min(cursor.value_or(0), end), static_cast<int>(rows) - 1};
  } else if (last) {
    frame.lines.push_back(keys_line(browser, canvas));
  }
  return frame;
}

}  // namespace holdfast::cli::top
