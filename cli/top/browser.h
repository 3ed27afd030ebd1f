// Browser: what the user of a Sight looks at: the list with its order, filter and selection, one lock, or a question.
// Understands keys. Does no input or output. Not thread-safe.
//
//   list ── Enter ─► lock ── Esc ─► list         b in both: breaking ── Enter, Esc ─► back
//   list ── / ─► filter ── Enter, Esc ─► list    ? in both: help ── any key ─► back
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "top/keys.h"
#include "top/rows.h"

namespace holdfast::cli::top {

struct LockId {
  std::size_t engine = 0;
  Name name = "-";

  friend bool operator==(const LockId&, const LockId&) = default;
};

// The next step of the program.
struct Wish {
  bool quit = false;
  struct Break {
    LockId lock;
    Token token;
  };
  std::optional<Break> breaking{};
};

// A lock is broken only by the token that the user has typed, of a holder that was on the screen when the question was
// asked. The engine compares it again.
struct Breaking {
  LockId lock;
  struct Holder {
    Token token;
    std::string label;
  };
  std::vector<Holder> holders;
  std::string typed;
};

class Browser {
 public:
  enum class Mode { list, lock, filter, breaking, help };

  // REQUIRES: `sight` lives longer.
  Browser(const Sight& sight, Choice choice, bool read_only);

  Wish press(const Key& key);
  // The sight has changed: its rows are taken anew.
  void refresh();
  // Shown until the next key.
  void tell(std::string message) { message_ = std::move(message); }
  // So many rows of the list, or lines of a lock, are on the screen: the selection is among them.
  void fit(std::size_t page, std::size_t lines_of_lock = 0);

  const Sight& sight() const { return sight_; }
  Mode mode() const { return mode_; }
  // The mode below a question.
  Mode page_mode() const { return mode_ == Mode::list || mode_ == Mode::lock ? mode_ : below_; }
  const Choice& choice() const { return choice_; }
  bool read_only() const { return read_only_; }
  const std::vector<Row>& rows() const { return rows_; }
  std::size_t selected() const { return selected_; }
  std::size_t first_row() const { return first_row_; }
  // The lock that is open, and its first line on the screen.
  const LockId& open_lock() const { return open_; }
  std::size_t first_line() const { return first_line_; }
  const Breaking& breaking() const { return breaking_; }
  const std::string& message() const { return message_; }

 private:
  Wish press_in_list(const Key& key);
  Wish press_in_lock(const Key& key);
  Wish press_in_filter(const Key& key);
  Wish press_in_breaking(const Key& key);
  // Acts on a letter that means the same on every page. False: it means nothing.
  bool press_anywhere(const Key& key, Wish& wish);
  bool sort_by(const std::string& letter);
  void move(long long rows);
  void ask(Mode question);
  void ask_to_break();
  void next_engine();
  void choose(Choice choice);
  std::optional<LockId> selected_lock() const;

  const Sight& sight_;
  Choice choice_;
  const bool read_only_;
  Mode mode_ = Mode::list;
  Mode below_ = Mode::list;
  std::vector<Row> rows_;
  std::size_t selected_ = 0;
  // The selection stays with this lock wherever it is sorted to. None: with the first row.
  std::optional<LockId> kept_;
  std::size_t first_row_ = 0;
  std::size_t page_ = 1;
  LockId open_;
  std::size_t first_line_ = 0;
  Breaking breaking_;
  std::string filter_before_;
  std::string message_;
};

}  // namespace holdfast::cli::top
