#include "top/browser.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace holdfast::cli::top {
namespace {

constexpr std::size_t kLongestFilter = 100;
constexpr std::size_t kLongestToken = 20;
constexpr long long kFar = std::numeric_limits<int>::max();

std::optional<Token> token_of(const std::string& digits) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || rest != end || value == 0) return std::nullopt;
  return Token(value);
}

// Takes off the last character, of any number of bytes.
void rub_out(std::string& text) {
  while (!text.empty() && (text.back() & 0xC0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

bool is_letter(const Key& key, const char* letter) {
  return key.press == Press::text && key.text == letter;
}

// How far a key moves; zero: it is no key for that.
long long step_of(const Key& key, std::size_t page) {
  const auto rows = static_cast<long long>(std::max<std::size_t>(1, page));
  if (key.press == Press::up || is_letter(key, "k")) return -1;
  if (key.press == Press::down || is_letter(key, "j")) return 1;
  if (key.press == Press::page_up) return -rows;
  if (key.press == Press::page_down || is_letter(key, " ")) return rows;
  if (key.press == Press::home || is_letter(key, "g")) return -kFar;
  if (key.press == Press::end || is_letter(key, "G")) return kFar;
  return 0;
}

std::size_t moved(std::size_t from, long long step, std::size_t last) {
  const long long to = static_cast<long long>(from) + step;
  return static_cast<std::size_t>(std::clamp(to, 0LL, static_cast<long long>(last)));
}

}  // namespace

Browser::Browser(const Sight& sight, Choice choice, bool read_only)
    : sight_(sight), choice_(std::move(choice)), read_only_(read_only) {
  refresh();
}

void Browser::refresh() {
  rows_ = rows_of(sight_, choice_);
  if (!kept_) {
    selected_ = 0;
    return;
  }
  const auto at = std::ranges::find_if(rows_, [&](const Row& row) {
    return row.engine == kept_->engine && row.lock->lock.name == kept_->name;
  });
  // One that is gone leaves the selection where it was.
  if (at != rows_.end()) selected_ = static_cast<std::size_t>(at - rows_.begin());
  selected_ = rows_.empty() ? 0 : std::min(selected_, rows_.size() - 1);
}

void Browser::fit(std::size_t page, std::size_t lines_of_lock) {
  page_ = page;
  if (page == 0) return;
  if (page_mode() == Mode::lock) {
    first_line_ = std::min(first_line_, lines_of_lock > page ? lines_of_lock - page : 0);
    return;
  }
  first_row_ = std::min(first_row_, rows_.size() > page ? rows_.size() - page : 0);
  if (selected_ < first_row_) first_row_ = selected_;
  if (selected_ >= first_row_ + page) first_row_ = selected_ + 1 - page;
}

std::optional<LockId> Browser::selected_lock() const {
  if (page_mode() == Mode::lock) return open_;
  if (selected_ >= rows_.size()) return std::nullopt;
  return LockId{rows_[selected_].engine, rows_[selected_].lock->lock.name};
}

Wish Browser::press(const Key& key) {
  message_.clear();
  switch (mode_) {
    case Mode::list: return press_in_list(key);
    case Mode::lock: return press_in_lock(key);
    case Mode::filter: return press_in_filter(key);
    case Mode::breaking: return press_in_breaking(key);
    case Mode::help: break;
  }
  mode_ = below_;
  return {};
}

bool Browser::press_anywhere(const Key& key, Wish& wish) {
  if (key.press != Press::text) return false;
  if (key.text == "q") {
    wish.quit = true;
  } else if (key.text == "?" || key.text == "h") {
    ask(Mode::help);
  } else if (key.text == "b") {
    ask_to_break();
  } else {
    return false;
  }
  return true;
}

Wish Browser::press_in_list(const Key& key) {
  Wish wish;
  if (press_anywhere(key, wish)) return wish;
  if (const long long step = step_of(key, page_)) {
    move(step);
  } else if (key.press == Press::enter || key.press == Press::right) {
    if (const auto lock = selected_lock()) {
      open_ = *lock;
      kept_ = open_;
      first_line_ = 0;
      mode_ = Mode::lock;
    }
  } else if (key.press == Press::escape) {
    Choice choice = choice_;
    choice.filter.clear();
    choose(std::move(choice));
  } else if (key.press == Press::text && !sort_by(key.text)) {
    if (key.text == "e") next_engine();
    if (key.text == "/") {
      filter_before_ = choice_.filter;
      ask(Mode::filter);
    }
  }
  return wish;
}

bool Browser::sort_by(const std::string& letter) {
  Choice choice = choice_;
  if (letter == "w") {
    choice.sort = Sort::waiters;
  } else if (letter == "l") {
    choice.sort = Sort::wait;
  } else if (letter == "a") {
    choice.sort = Sort::age;
  } else if (letter == "n") {
    choice.sort = Sort::name;
  } else if (letter == "s") {
    choice.sort = static_cast<Sort>((static_cast<int>(choice_.sort) + 1) % 4);
  } else {
    return false;
  }
  choose(std::move(choice));
  return true;
}

Wish Browser::press_in_lock(const Key& key) {
  Wish wish;
  if (press_anywhere(key, wish)) return wish;
  if (const long long step = step_of(key, page_)) {
    // fit() knows where the end is.
    first_line_ = moved(first_line_, step, static_cast<std::size_t>(kFar));
  } else if (key.press == Press::escape || key.press == Press::left ||
             key.press == Press::backspace || key.press == Press::enter) {
    mode_ = Mode::list;
  }
  return wish;
}

Wish Browser::press_in_filter(const Key& key) {
  Choice choice = choice_;
  if (key.press == Press::enter) {
    mode_ = below_;
  } else if (key.press == Press::escape) {
    choice.filter = filter_before_;
    mode_ = below_;
  } else if (key.press == Press::backspace) {
    rub_out(choice.filter);
  } else if (key.press == Press::clear) {
    choice.filter.clear();
  } else if (key.press == Press::text && choice.filter.size() < kLongestFilter) {
    choice.filter += key.text;
  } else {
    move(step_of(key, page_));
  }
  choose(std::move(choice));
  return {};
}

Wish Browser::press_in_breaking(const Key& key) {
  std::string& typed = breaking_.typed;
  if (key.press == Press::escape) {
    mode_ = below_;
    tell("left as it is");
  } else if (key.press == Press::backspace) {
    rub_out(typed);
  } else if (key.press == Press::clear) {
    typed.clear();
  } else if (key.press == Press::text && key.text[0] >= '0' && key.text[0] <= '9') {
    if (typed.size() < kLongestToken) typed += key.text;
  } else if (key.press == Press::enter) {
    mode_ = below_;
    const std::optional<Token> token = token_of(typed);
    if (token && std::ranges::count(breaking_.holders, *token, &Breaking::Holder::token) > 0)
      return {.breaking = Wish::Break{breaking_.lock, *token}};
    tell(typed.empty() ? "left as it is" : "left as it is: that is not the token of its holder");
  }
  return {};
}

void Browser::move(long long rows) {
  if (rows == 0 || rows_.empty()) return;
  selected_ = moved(selected_, rows, rows_.size() - 1);
  kept_.reset();
  if (selected_ > 0) kept_ = selected_lock();
}

void Browser::ask(Mode question) {
  below_ = mode_;
  mode_ = question;
}

void Browser::ask_to_break() {
  if (read_only_) return tell("nothing is broken with --read-only");
  const std::optional<LockId> lock = selected_lock();
  const TopLock* known = lock ? sight_.find(lock->engine, lock->name) : nullptr;
  if (!known || known->lock.holders.empty()) return tell("nobody holds it");
  breaking_ = {*lock, {}, {}};
  for (const SeenHolder& each : known->lock.holders) {
    if (each.token != Token()) breaking_.holders.push_back({each.token, each.label});
  }
  if (breaking_.holders.empty()) return tell("its holder has no token to break it by");
  ask(Mode::breaking);
}

void Browser::next_engine() {
  Choice choice = choice_;
  const std::size_t next = choice.engine ? *choice.engine + 1 : 0;
  choice.engine = next < sight_.engines().size() ? std::optional(next) : std::nullopt;
  choose(std::move(choice));
}

void Browser::choose(Choice choice) {
  if (choice == choice_) return;
  choice_ = std::move(choice);
  refresh();
}

}  // namespace holdfast::cli::top
