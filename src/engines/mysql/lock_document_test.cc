#include "engines/mysql/lock_document.h"

#include <gtest/gtest.h>

#include "engines/mysql/table_sql.h"

namespace holdfast::internal::mysql {
namespace {

using table::HolderRow;
using table::WaiterRow;

ClaimId claim(std::uint8_t number) {
  std::array<std::uint8_t, ClaimId::kBytes> bytes{};
  bytes.fill(number);
  return ClaimId(bytes);
}

// A row as the server returns it, from what is written to it.
SqlRows row_of(const std::vector<SqlValue>& written, const std::string& alive = "") {
  const auto cell = [&](std::size_t i) -> std::optional<std::string> {
    if (const auto* number = std::get_if<std::int64_t>(&written.at(i)))
      return std::to_string(*number);
    if (const auto* bytes = std::get_if<std::string>(&written.at(i))) return *bytes;
    return std::nullopt;
  };
  SqlRows rows;
  rows.rows.push_back({"1000", cell(2), cell(0), cell(3), cell(4), cell(5), cell(6), cell(7),
                       cell(8), cell(9), cell(10), cell(11), cell(12), alive});
  return rows;
}

SqlRows empty_row() {
  SqlRows rows;
  rows.rows.push_back({"1000", "7", "3", std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                       std::nullopt, std::nullopt, std::nullopt, std::nullopt, "0", "0", ""});
  return rows;
}

TEST(LockDocument, WhatIsWrittenIsReadAgain) {
  LockDocument written(empty_row(), 0);
  EXPECT_FALSE(written.changed());
  for (std::uint8_t i = 1; i <= 3; ++i) {
    written.add_waiter({.claim = claim(i),
                        .mode = Mode::shared,
                        .permits = i,
                        .ttl = Duration(i * 1'000'000'007LL),
                        .since = 42,
                        .label = std::string(i * 100, 'w')});
  }
  written.add_holder(
      {.claim = claim(9), .token = 8, .since = 5, .expires = 1LL << 60, .ttl = 6, .label = "h"});
  EXPECT_TRUE(written.changed());
  LockDocument read(row_of(written.values()), 0);
  EXPECT_EQ(read.values(), written.values());
  ASSERT_EQ(read.line().size(), 3U);
  const WaiterRow second = read.line()[1];
  EXPECT_EQ(second.claim, claim(2));
  EXPECT_EQ(second.mode, Mode::shared);
  EXPECT_EQ(second.permits, 2U);
  EXPECT_EQ(second.ttl, Duration(2'000'000'014LL));
  EXPECT_EQ(second.label, std::string(200, 'w'));
  ASSERT_EQ(read.holders().size(), 1U);
  EXPECT_EQ(read.holders()[0].expires, 1LL << 60);
  EXPECT_EQ(read.holders()[0].label, "h");
}

TEST(LockDocument, AWaiterWhoseNameNobodyHasIsGone) {
  LockDocument written(empty_row(), 0);
  for (std::uint8_t i = 1; i <= 3; ++i) written.add_waiter({.claim = claim(i)});
  LockDocument read(row_of(written.values(), "101"), 0);
  EXPECT_FALSE(read.gone(read.line()[0].process));
  EXPECT_TRUE(read.gone(read.line()[1].process));
  EXPECT_FALSE(read.gone(read.line()[2].process));
}

// Somebody else may have written to the table.
TEST(LockDocument, BytesThatAreCutOffDoNoHarm) {
  LockDocument written(empty_row(), 0);
  for (std::uint8_t i = 1; i <= 2; ++i) written.add_waiter({.claim = claim(i), .label = "label"});
  written.add_holder({.claim = claim(9), .label = "holder"});
  std::vector<SqlValue> values = written.values();
  for (const std::size_t column : {8U, 9U, 10U}) {
    const std::string whole = std::get<std::string>(values[column]);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      values[column] = whole.substr(0, size);
      LockDocument read(row_of(values), 0);
      EXPECT_LE(read.line().size(), 2U);
      EXPECT_LE(read.holders().size(), 1U);
    }
    values[column] = whole;
  }
}

TEST(TableSql, ParametersAreBroughtIntoOrder) {
  const SqlStatement plain = in_order("a $2, $1, $2", {std::int64_t{1}, std::string("two")});
  EXPECT_EQ(plain.text, "a ?, ?, ?");
  EXPECT_EQ(plain.values,
            (std::vector<SqlValue>{std::string("two"), std::int64_t{1}, std::string("two")}));
}

}  // namespace
}  // namespace holdfast::internal::mysql
