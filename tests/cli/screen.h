// Screen: what a terminal shows of the bytes that a program wrote to it. It knows the few sequences that our programs
// use, and was written apart from them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

class Screen {
 public:
  // `wide`: whether East Asian characters and emoji take two columns, as on most terminals.
  Screen(std::size_t columns, std::size_t rows, bool wide = true) : wide_(wide) {
    resize(columns, rows);
  }

  // As most terminals do it: what no longer fits is cut off.
  void resize(std::size_t columns, std::size_t rows) {
    for (auto* buffer : {&main_, &other_}) {
      buffer->resize(rows);
      for (Row& row : *buffer) row.resize(columns, " ");
    }
    column_ = row_ = 0;
  }

  // Sequences may be split over calls.
  void write(std::string_view text) {
    pending_ += text;
    while (!pending_.empty()) {
      const std::size_t used = pending_[0] == '\x1b' ? obey() : show();
      if (used == 0) return;
      pending_.erase(0, used);
    }
  }

  std::size_t rows() const { return buffer().size(); }
  // Without blanks at its end.
  std::string row(std::size_t index) const {
    std::string text;
    for (const std::string& cell : buffer()[index]) text += cell;
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < rows(); ++i) text += row(i) + '\n';
    return text;
  }
  bool is_alternate() const { return alternate_; }
  bool has_cursor() const { return cursor_; }
  bool wraps() const { return wraps_; }
  // Something was written that is none of the sequences that it knows.
  bool is_confused() const { return confused_; }

 private:
  using Row = std::vector<std::string>;

  std::vector<Row>& buffer() { return alternate_ ? other_ : main_; }
  const std::vector<Row>& buffer() const { return alternate_ ? other_ : main_; }

  std::size_t obey() {
    if (pending_.size() < 3) return 0;
    std::size_t end = 2;
    while (end < pending_.size() && pending_[end] < 0x40) ++end;
    if (end == pending_.size()) return 0;
    const std::string arguments = pending_.substr(2, end - 2);
    if (pending_[1] != '[') {
      confused_ = true;
    } else if (pending_[end] == 'H') {
      move(arguments);
    } else if (pending_[end] == 'J') {
      for (Row& row : buffer()) row.assign(row.size(), " ");
    } else if (pending_[end] == 'K') {
      Row& row = buffer()[row_];
      for (std::size_t i = arguments == "2" ? 0 : column_; i < row.size(); ++i) row[i] = " ";
    } else if (pending_[end] == 'h' || pending_[end] == 'l') {
      set_mode(arguments, pending_[end] == 'h');
    } else if (pending_[end] != 'm') {
      confused_ = true;
    }
    return end + 1;
  }
  void move(const std::string& arguments) {
    const std::size_t semicolon = arguments.find(';');
    row_ = std::min(std::stoul(arguments), rows()) - 1;
    column_ = std::stoul(arguments.substr(semicolon + 1)) - 1;
  }
  void set_mode(const std::string& mode, bool on) {
    if (mode == "?1049") {
      alternate_ = on;
    } else if (mode == "?25") {
      cursor_ = on;
    } else if (mode == "?7") {
      wraps_ = on;
    } else if (mode != "?2004") {  // of shells
      confused_ = true;
    }
  }

  std::size_t show() {
    const auto lead = static_cast<unsigned char>(pending_[0]);
    if (lead < 0x20 || lead == 0x7F) {
      if (lead == '\r') column_ = 0;
      if (lead == '\n') scroll();
      return 1;
    }
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (pending_.size() < size) return 0;
    put(pending_.substr(0, size));
    return size;
  }
  void scroll() {
    if (row_ + 1 < rows()) {
      ++row_;
      return;
    }
    buffer().erase(buffer().begin());
    buffer().emplace_back(buffer().empty() ? 0 : buffer()[0].size(), " ");
  }
  void put(const std::string& character) {
    Row& row = buffer()[row_];
    // Combining marks of the tests.
    if (character == "\u0301") {
      if (column_ > 0 && column_ <= row.size()) row[column_ - 1] += character;
      return;
    }
    if (column_ >= row.size() && wraps_) {
      column_ = 0;
      scroll();
    }
    Row& at = buffer()[row_];
    const std::size_t columns = wide_ && is_wide(character) ? 2 : 1;
    for (std::size_t i = 0; i < columns && column_ < at.size(); ++i, ++column_)
      at[column_] = i == 0 ? character : "";
  }
  // Of those that the tests write.
  static bool is_wide(const std::string& character) {
    return (character >= "\u3041" && character <= "\u9fff") || character >= "\U0001F300";
  }

  const bool wide_;
  std::vector<Row> main_;
  std::vector<Row> other_;
  std::string pending_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  bool alternate_ = false;
  bool cursor_ = true;
  bool wraps_ = true;
  bool confused_ = false;
};

}  // namespace holdfast::test
