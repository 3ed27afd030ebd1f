#include "engines/table/record_requests.h"

namespace holdfast::internal::table {

namespace {

// A look at a table that is not there makes none.
class LookingJudge final : public SqlJudge {
 public:
  explicit LookingJudge(SqlJudge& inner) : inner_(inner) {}

  bool no_table() const { return no_table_; }
  SqlTrouble trouble_with(const SqlError& error) const override {
    return inner_.trouble_with(error);
  }
  Failure failure_of(const SqlError& error) const override { return inner_.failure_of(error); }
  Task<Result<void>> make_tables(Deadline) override {
    no_table_ = true;
    co_return Failure(Code::misconfigured, "the table holdfast_record is missing");
  }

 private:
  SqlJudge& inner_;
  bool no_table_ = false;
};

struct Asking {
  Runtime& runtime;
  ConnectionPool& connections;
  SqlJudge& judge;
  Duration timeout;
};

Task<Result<std::optional<SqlOutcome>>> ask(Asking with, std::vector<SqlStatement> statements,
                                            bool look, Deadline deadline) {
  LookingJudge looking(with.judge);
  Requests requests(with.runtime, look ? static_cast<SqlJudge&>(looking) : with.judge,
                    with.timeout);
  Result<Requests::Asked> asked =
      co_await requests.ask(with.connections, std::move(statements), deadline);
  if (looking.no_table()) co_return std::optional<SqlOutcome>();
  if (!asked) co_return asked.failure();
  co_return std::optional(std::move(asked->outcome));
}

}  // namespace

RecordTable::Ask record_requests(Runtime& runtime, ConnectionPool& connections, SqlJudge& judge,
                                 Duration timeout) {
  const Asking with{runtime, connections, judge, timeout};
  return [with](std::vector<SqlStatement> statements, bool look, Deadline deadline) {
    return ask(with, std::move(statements), look, deadline);
  };
}

}  // namespace holdfast::internal::table
