#include "top/lock_view.h"

#include <algorithm>

#include "lock_info.h"
#include "top/lock_texts.h"
#include "top/span_text.h"

namespace holdfast::cli::top {
namespace {

constexpr int kBar = 8;

// A line before it is drawn.
struct Entry {
  enum class Kind { heading, nothing, holder, hold, detail, waiter, event } kind;
  std::size_t index = 0;  // of the holder, waiter or event
  std::string text{};     // of headings
};

struct Page {
  const TopEngine& engine;
  const TopLock* lock;  // null: nobody holds it or waits for it
  std::vector<HistoryEvent> events;
};

std::vector<Entry> entries_of(const Page& page) {
  using Kind = Entry::Kind;
  std::vector<Entry> entries{{Kind::heading, 0, "HOLDERS"}};
  const std::size_t holders = page.lock ? page.lock->lock.holders.size() : 0;
  const std::size_t waiters = page.lock ? page.lock->lock.waiters.size() : 0;
  for (std::size_t i = 0; i < holders; ++i) {
    entries.push_back({Kind::holder, i});
    entries.push_back({Kind::hold, i});
    if (!page.lock->lock.holders[i].details.empty()) entries.push_back({Kind::detail, i});
  }
  if (holders == 0) entries.push_back({Kind::nothing, 0, "nobody"});
  entries.push_back({Kind::heading, 0, "WAITERS, the next one first"});
  for (std::size_t i = 0; i < waiters; ++i) entries.push_back({Kind::waiter, i});
  if (waiters == 0) entries.push_back({Kind::nothing, 0, "nobody"});
  entries.push_back({Kind::heading, 0, "SEEN HERE, the latest first"});
  for (std::size_t i = 0; i < page.events.size(); ++i) entries.push_back({Kind::event, i});
  if (page.events.empty()) entries.push_back({Kind::nothing, 0, "nothing yet"});
  return entries;
}

void put_hold(Line& line, const TopLock& lock, std::size_t index, long long now_ms) {
  const SeenHolder& holder = lock.lock.holders[index];
  int at = 4;
  if (const std::optional<Left> left = left_of(lock, index, now_ms)) {
    line.bar(at, kBar, left->share, {.colour = left->colour()});
    at = line.put(at + kBar + 1, left_text(left) + " left, ");
  }
  std::string text = std::string(mode_name(holder.mode));
  if (holder.token != Token()) text = "token " + holder.token.str() + ", " + text;
  if (holder.since_ms) text += ", held " + since_text(holder.since_ms, now_ms);
  if (!holder.owner.empty()) text += ", owner " + holder.owner;
  line.put(at, text);
}

std::string details_text(const SeenHolder& holder) {
  std::string text;
  for (const auto& [name, value] : holder.details)
    text += (text.empty() ? "" : ", ") + name + " " + shown_label(value);
  return text;
}

void put_waiter(Line& line, const SeenWaiter& waiter, std::size_t index, long long now_ms) {
  constexpr int kNumber = 5;
  constexpr int kSpan = 6;
  line.put(0, kNumber, std::to_string(index + 1), {}, Align::right);
  line.put(kNumber, kSpan, since_text(waiter.since_ms, now_ms), {.bold = true}, Align::right);
  std::string text = std::string(mode_name(waiter.mode)) + "  " + shown_label(waiter.label);
  if (!waiter.owner.empty()) text += ", owner " + waiter.owner;
  line.put(kNumber + kSpan + 2, text);
}

Line line_of(const Entry& entry, const Page& page, const Canvas& canvas) {
  Line line = canvas.line();
  switch (entry.kind) {
    case Entry::Kind::heading:
      line.put(0, entry.text, {.colour = Colour::cyan, .bold = true});
      break;
    case Entry::Kind::nothing: line.put(2, entry.text, {.dim = true}); break;
    case Entry::Kind::holder:
      line.put(2, holder_name(page.lock->lock.holders[entry.index]), {.bold = true});
      break;
    case Entry::Kind::hold: put_hold(line, *page.lock, entry.index, canvas.now_ms); break;
    case Entry::Kind::detail:
      line.put(4, details_text(page.lock->lock.holders[entry.index]), {.dim = true});
      break;
    case Entry::Kind::waiter:
      put_waiter(line, page.lock->lock.waiters[entry.index], entry.index, canvas.now_ms);
      break;
    case Entry::Kind::event: {
      const HistoryEvent& event = page.events[entry.index];
      const int at = line.put(2, clock_text(event.at_ms) + "  ");
      line.put(at, event_text(event), {.colour = event_colour(event)});
      break;
    }
  }
  return line;
}

Line name_line(const Browser& browser, const Page& page, const Canvas& canvas) {
  Line line = canvas.line();
  std::string state = page.lock ? "" : "free";
  if (page.lock && page.lock->lock.permits > 0) {
    state = std::to_string(page.lock->lock.holders.size()) + " of " +
            std::to_string(page.lock->lock.permits) + " permits";
  }
  if (page.lock && page.lock->lock.last_token != Token())
    state += (state.empty() ? "" : ", ") + ("last token " + page.lock->lock.last_token.str());
  const int state_width = static_cast<int>(state.size());
  // The name goes first where there is no room for both.
  const int for_name = std::max(canvas.size.columns - state_width - 2, canvas.size.columns / 2);
  const int at = line.put(0, std::min(for_name, canvas.size.columns), page.engine.name + "  ");
  const int end = line.put(at, for_name - at, browser.open_lock().name.bytes(), {.bold = true});
  line.put(end + 2, state, {.dim = true});
  return line;
}

}  // namespace

std::vector<Line> lock_lines(Browser& browser, const Canvas& canvas, std::size_t rows) {
  const LockId& id = browser.open_lock();
  const Sight& sight = browser.sight();
  const TopEngine& engine = sight.engines()[id.engine];
  const Page page{engine, sight.find(id.engine, id.name),
                  sight.happenings().of(engine.name, id.name)};
  std::vector<Line> lines;
  if (rows > 0) lines.push_back(name_line(browser, page, canvas));
  const std::vector<Entry> entries = entries_of(page);
  browser.fit(rows > 0 ? rows - 1 : 0, entries.size());
  for (std::size_t i = browser.first_line(); i < entries.size() && lines.size() < rows; ++i)
    lines.push_back(line_of(entries[i], page, canvas));
  return lines;
}

}  // namespace holdfast::cli::top
