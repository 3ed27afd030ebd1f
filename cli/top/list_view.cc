#include "top/list_view.h"

#include <algorithm>

#include "top/lock_texts.h"
#include "top/span_text.h"

namespace holdfast::cli::top {
namespace {

enum class Field { engine, name, waiting, oldest, held, left, bar, token, mode, holder };

struct Column {
  Field field;
  const char* title;
  int width;  // what is to be shared out: at least
  Align align;
  int dispensable;  // the highest is left out first where there is no room; 0: never
};

struct Placed {
  Column column;
  int from;
};

constexpr int kGap = 2;
constexpr int kWidestName = 60;
constexpr int kWidthForToken = 120;
constexpr int kWidthForMode = 140;

int width_of(const std::vector<Column>& columns) {
  int width = -kGap;
  for (const Column& each : columns) width += each.width + kGap;
  return width;
}

Column* find_field(std::vector<Column>& columns, Field field) {
  const auto at = std::ranges::find(columns, field, &Column::field);
  return at == columns.end() ? nullptr : &*at;
}

std::vector<Column> wanted_columns(int width, const Sight& sight) {
  constexpr std::size_t kWidestEngine = 12;
  std::vector<Column> columns;
  if (sight.engines().size() > 1) {
    std::size_t engine = 6;
    for (const TopEngine& each : sight.engines()) engine = std::max(engine, each.name.size());
    columns.push_back({Field::engine, "ENGINE", static_cast<int>(std::min(engine, kWidestEngine)),
                       Align::left, 3});
  }
  columns.push_back({Field::name, "LOCK", std::clamp(width / 3, 10, 16), Align::left, 0});
  columns.push_back({Field::waiting, "WAIT", 4, Align::right, 1});
  columns.push_back({Field::oldest, "OLDEST", 6, Align::right, 5});
  columns.push_back({Field::held, "HELD", 4, Align::right, 6});
  columns.push_back({Field::left, "LEFT", 4, Align::right, 2});
  columns.push_back({Field::bar, "", 8, Align::left, 7});
  // The holder says more than these, and gets the room first.
  if (width >= kWidthForToken) columns.push_back({Field::token, "TOKEN", 16, Align::right, 8});
  if (width >= kWidthForMode) columns.push_back({Field::mode, "MODE", 9, Align::left, 9});
  columns.push_back({Field::holder, "HOLDER", 16, Align::left, 4});
  return columns;
}

// Between the name and the holder.
void share_out(int spare, std::vector<Column>& columns) {
  Column* name = find_field(columns, Field::name);
  Column* holder = find_field(columns, Field::holder);
  if (!holder || spare < 0) {
    name->width = std::max(1, name->width + spare);
    return;
  }
  const int more = std::min(spare * 2 / 5, kWidestName - name->width);
  name->width += more;
  holder->width += spare - more;
}

// Which columns fit, and where. It depends on the width alone, so that nothing jumps when locks come and go.
std::vector<Placed> columns_for(int width, const Sight& sight) {
  std::vector<Column> columns = wanted_columns(width, sight);
  while (width_of(columns) > width) {
    const auto last = std::ranges::max_element(columns, {}, &Column::dispensable);
    if (last->dispensable == 0) break;
    columns.erase(last);
  }
  share_out(width - width_of(columns), columns);
  std::vector<Placed> placed;
  int from = 0;
  for (const Column& each : columns) {
    placed.push_back({each, from});
    from += each.width + kGap;
  }
  return placed;
}

std::string holder_text(const SeenLock& lock) {
  if (lock.holders.empty()) return "-";
  const std::string more =
      lock.holders.size() > 1 ? " +" + std::to_string(lock.holders.size() - 1) : "";
  return holder_name(lock.holders[0]) + more;
}

std::string cell_text(Field field, const TopEngine& engine, const TopLock& top, long long now_ms) {
  const SeenLock& lock = top.lock;
  switch (field) {
    case Field::engine: return engine.name;
    case Field::name: return lock.name.bytes();
    case Field::waiting: return lock.waiters.empty() ? "-" : std::to_string(lock.waiters.size());
    case Field::oldest: return since_text(top.waiting_since_ms(), now_ms);
    case Field::held: return since_text(top.held_since_ms(), now_ms);
    case Field::left: return left_text(least_left(top, now_ms));
    case Field::token:
      return lock.holders.empty() || lock.holders[0].token == Token() ? "-"
                                                                      : lock.holders[0].token.str();
    case Field::mode: return lock.holders.empty() ? "-" : mode_name(lock.holders[0].mode);
    case Field::holder: return holder_text(lock);
    case Field::bar: break;
  }
  return {};
}

Line row_line(const std::vector<Placed>& columns, const TopEngine& engine, const TopLock& lock,
              const Canvas& canvas) {
  Line line = canvas.line();
  // It may have changed since: the engine does not answer.
  const bool stale = engine.failure.has_value();
  for (const Placed& at : columns) {
    Style style{.dim = stale};
    if (at.column.field == Field::bar) {
      if (const auto left = least_left(lock, canvas.now_ms))
        line.bar(at.from, at.column.width, left->share,
                 {.colour = stale ? Colour::none : left->colour(), .dim = stale});
      continue;
    }
    if (at.column.field == Field::waiting && !lock.lock.waiters.empty()) style.bold = true;
    line.put(at.from, at.column.width, cell_text(at.column.field, engine, lock, canvas.now_ms),
             style, at.column.align);
  }
  return line;
}

Line titles(const std::vector<Placed>& columns, const Canvas& canvas) {
  Line line = canvas.line();
  for (const Placed& at : columns) {
    line.put(at.from, at.column.width, at.column.title, {.colour = Colour::cyan, .bold = true},
             at.column.align);
  }
  return line;
}

std::string why_empty(const Browser& browser) {
  const bool some_locks = std::ranges::any_of(
      browser.sight().engines(), [](const TopEngine& each) { return !each.locks.empty(); });
  if (some_locks) return "nothing matches (Esc shows all)";
  const bool some_seen = std::ranges::any_of(
      browser.sight().engines(), [](const TopEngine& each) { return each.seen_ms.has_value(); });
  const bool all_failed = std::ranges::all_of(
      browser.sight().engines(), [](const TopEngine& each) { return each.failure.has_value(); });
  if (all_failed) return "no engine answers";
  return some_seen ? "nobody holds a lock or waits for one" : "looking";
}

}  // namespace

std::vector<Line> list_lines(Browser& browser, const Canvas& canvas, std::size_t rows) {
  constexpr std::size_t kRowsForTitles = 4;
  const std::vector<Placed> columns = columns_for(canvas.size.columns, browser.sight());
  std::vector<Line> lines;
  if (rows >= kRowsForTitles) lines.push_back(titles(columns, canvas));
  browser.fit(rows - lines.size());
  if (browser.rows().empty() && rows > 0) {
    lines.push_back(canvas.line());
    lines.back().put(0, why_empty(browser), {.dim = true});
  }
  for (std::size_t i = browser.first_row(); i < browser.rows().size() && lines.size() < rows; ++i) {
    const Row& row = browser.rows()[i];
    lines.push_back(row_line(columns, browser.sight().engines()[row.engine], *row.lock, canvas));
    if (i == browser.selected()) lines.back().highlight();
  }
  return lines;
}

}  // namespace holdfast::cli::top
