// ServerRows: the rows of one lock as a server brought them in one answer, and the changes to them
// as the statements of one request.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "engines/table/dialect.h"
#include "engines/table/rows.h"

namespace holdfast::internal::table {

class ServerRows final : public Rows {
 public:
  // `claim` is the one whose place in the queue matters; `me` the process whose waiters are ours.
  ServerRows(const Dialect& dialect, std::string key, const ClaimId& claim, ProcessId me)
      : dialect_(dialect), key_(std::move(key)), claim_(claim), me_(me) {}

  // Enough for all but a queue of dead.
  static constexpr std::int64_t kUsualLine = 16;

  // The questions: `lock` or `find`, then holders, then line.
  std::vector<SqlStatement> questions(bool to_lock, std::int64_t longest_line) const;
  // The answers to these, from `first` on. False if there is no such lock.
  bool read(const std::vector<SqlRows>& answers, std::size_t first);

  LockRow& row() { return row_; }
  std::int64_t now() const { return now_; }
  // True if more waiters would have been needed than were asked for.
  bool ran_short() const { return ran_short_; }
  // The changes, that of the row included; empty if there are none.
  std::vector<SqlStatement> changes() const;

  std::vector<HolderRow> holders() override { return holders_; }
  std::optional<std::int64_t> token_of(const ClaimId& holder) override;
  void add_holder(const HolderRow& holder) override;
  bool remove_holder(const ClaimId& claim) override;
  void set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t ttl) override;
  std::optional<WaiterRow> head() override;
  std::vector<WaiterRow> line() override { return line_; }
  std::optional<std::int64_t> place_of(const ClaimId& waiter) override;
  void add_waiter(const WaiterRow& waiter) override;
  void remove_waiter(std::int64_t seq) override;
  std::int64_t remove_waiters_of(ProcessId process) override;
  std::optional<WaiterRow> behind(std::int64_t seq) override;
  bool permit_awaited() override;
  std::uint64_t count_before(std::int64_t seq) override;
  ProcessId process_before(std::int64_t seq) override;
  ProcessId me() override { return me_; }
  bool gone(ProcessId process) override;
  std::string label_of(ProcessId) override { return {}; }

 private:
  void change(const std::string& text, std::vector<SqlValue> values);
  void read_row(const SqlRows& answer);
  void read_line(const SqlRows& answer);

  const Dialect& dialect_;
  std::string key_;
  ClaimId claim_;
  ProcessId me_;
  LockRow row_;
  LockRow before_;
  std::int64_t now_ = 0;
  std::vector<HolderRow> holders_;
  std::vector<WaiterRow> line_;
  std::unordered_set<ProcessId> gone_;
  mutable std::int64_t longest_line_ = 0;
  bool whole_line_ = true;
  bool ran_short_ = false;
  std::optional<std::int64_t> place_;  // of claim_
  std::uint64_t before_place_ = 0;
  std::vector<SqlStatement> changes_;
};

}  // namespace holdfast::internal::table
