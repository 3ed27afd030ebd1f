// RowMoves: tells which rows move about. PostgreSQL writes a new version of a row at each change, in the
// same page while old versions can be removed. Beside a transaction with an old snapshot they cannot: the
// row moves from page to page, and every search by its name goes through all that it left behind. Such
// rows are found by other statements, which cost a little more where nothing moves. Inside the loop only.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "holdfast/time.h"

namespace holdfast::internal::table {

class RowMoves {
 public:
  // `place`: "(page,item)".
  void seen(const std::string& key, std::string_view place, BootTime now) {
    constexpr std::size_t kMax = 1024;
    constexpr Duration kRemember = std::chrono::seconds(10);
    if (rows_.size() >= kMax && !rows_.contains(key)) rows_.clear();
    const std::string_view page = place.substr(0, place.find(','));
    Row& row = rows_[key];
    if (row.page == page) return;
    if (!row.page.empty()) row.moving_until = now + kRemember;
    row.page = page;
  }
  bool moving(const std::string& key, BootTime now) const {
    const auto row = rows_.find(key);
    return row != rows_.end() && now < row->second.moving_until;
  }

 private:
  struct Row {
    std::string page;
    BootTime moving_until{};
  };
  std::unordered_map<std::string, Row> rows_;
};

}  // namespace holdfast::internal::table
