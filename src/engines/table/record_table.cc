#include "engines/table/record_table.h"

#include <algorithm>

#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::table {

namespace {

std::optional<std::string> value_in(const SqlRows& rows) {
  if (rows.empty()) return std::nullopt;
  return rows.bytes(0, 0);
}

}  // namespace

SqlStatement RecordTable::reading(const Key& key) const {
  SqlStatement statement{sql_.read, {key.key}};
  statement.answer = row_if_any("B");
  return statement;
}

std::optional<SqlStatement> RecordTable::change(const Key& key,
                                                const std::optional<std::string>& expected,
                                                const std::optional<std::string>& value) const {
  if (expected && value) return SqlStatement{sql_.update, {*value, key.key, *expected}};
  if (expected) return SqlStatement{sql_.remove, {key.key, *expected}};
  if (value) return SqlStatement{sql_.insert, {key.key, key.full_name, *value}};
  return std::nullopt;
}

Task<Result<std::optional<std::string>>> RecordTable::read(Name name, Deadline deadline) {
  std::vector<SqlStatement> statements(1, reading(Key(prefix_ + name.bytes())));
  const Result<std::optional<SqlOutcome>> asked =
      co_await ask_(std::move(statements), true, deadline);
  if (!asked) co_return unreachable_instead_of_unknown(asked.failure());
  if (!*asked) co_return std::optional<std::string>();
  co_return value_in((*asked)->results.at(0));
}

Task<Result<bool>> RecordTable::swap(Name name, std::optional<std::string> expected,
                                     std::optional<std::string> value, Deadline deadline) {
  const Key key(prefix_ + name.bytes());
  const std::optional<SqlStatement> changing = change(key, expected, value);
  for (;;) {
    std::vector<SqlStatement> statements;
    if (changing) statements.push_back(*changing);
    statements.push_back(reading(key));
    const Result<std::optional<SqlOutcome>> asked =
        co_await ask_(std::move(statements), false, deadline);
    if (!asked) co_return asked.failure();
    if (!*asked) co_return Failure(Code::misconfigured, "the table holdfast_record is missing");
    const std::vector<SqlRows>& results = (*asked)->results;
    if (changing && results.at(0).affected == 1) co_return true;
    const std::optional<std::string> found = value_in(results.back());
    if (found == value) co_return true;
    if (found != expected) co_return false;
    if (deadline.passed(runtime_.now())) {
      co_return Failure(Code::unreachable, "the record of '" + name.display() +
                                               "' changes all the time; nothing was stored");
    }
  }
}

Task<Result<std::vector<Record>>> RecordTable::list(std::string prefix, Deadline deadline) {
  const std::string wanted = prefix_ + prefix;
  std::vector<SqlStatement> statements(1, SqlStatement{sql_.list, {wanted}});
  statements[0].answer = rows_of("BbB");
  const Result<std::optional<SqlOutcome>> asked =
      co_await ask_(std::move(statements), true, deadline);
  if (!asked) co_return unreachable_instead_of_unknown(asked.failure());
  std::vector<Record> all;
  if (!*asked) co_return all;
  const SqlRows& rows = (*asked)->results.at(0);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const std::string full = Key::name_of(rows.bytes(i, 0), rows.at(i, 1));
    if (!full.starts_with(wanted)) continue;
    const std::string name = full.substr(prefix_.size());
    if (!Name::problem_with(name)) all.push_back({Name(name), rows.bytes(i, 2)});
  }
  std::ranges::sort(all, {}, &Record::name);
  co_return all;
}

Task<Result<std::optional<WallTime>>> RecordTable::server_time(Deadline deadline) {
  std::vector<SqlStatement> statements(1, SqlStatement{sql_.now, {}});
  statements[0].answer = one_row("P");
  const Result<std::optional<SqlOutcome>> asked =
      co_await ask_(std::move(statements), true, deadline);
  if (!asked) co_return unreachable_instead_of_unknown(asked.failure());
  if (!*asked) co_return std::optional<WallTime>();
  const std::int64_t now_us = (*asked)->results.at(0).number(0, 0);
  co_return std::optional(WallTime(std::chrono::microseconds(now_us)));
}

}  // namespace holdfast::internal::table
