// TableEngine: locks as rows at a database server. Waiters are rows as well, and are woken; see Waking for how. Inside
// the loop only.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "base/known_server.h"
#include "engines/kit/contention_history.h"
#include "engines/kit/deadlines.h"
#include "engines/table/lock_table.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"
#include "sql/answer_grace.h"

namespace holdfast::internal::table {

class TableEngine final : public Engine {
 public:
  TableEngine(Runtime& runtime, std::unique_ptr<LockTable> table,
              std::shared_ptr<ServerExaminer> examiner, Duration request_timeout);

  const Guarantees& guarantees() const override { return examiner_->guarantees(); }
  Task<Result<Examination>> examine(Deadline deadline) override {
    return examiner_->examine(deadlines_.request(deadline));
  }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<std::optional<std::string>>> read_record(const Name& name,
                                                       Deadline deadline) override {
    return table_->records().read(name, deadlines_.request(deadline));
  }
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) override {
    return table_->records().swap(name, std::move(expected), std::move(value),
                                  deadlines_.request(deadline));
  }
  Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                 Deadline deadline) override {
    return table_->records().list(prefix, deadlines_.request(deadline));
  }
  Task<Result<std::optional<WallTime>>> server_time(Deadline deadline) override {
    return table_->records().server_time(deadlines_.request(deadline));
  }
  Task<void> close() override;

 private:
  // The last turn after which a claim waited: when it was asked for, and the last token that had been given then. The
  // row was ours alone at that moment, so what the claim is given came later, and its token is higher. (A look proves
  // neither: a grant may be under way, with its time already read.)
  struct LastTurn {
    BootTime sent_at{};
    Token last_token;
  };
  // A claim of this client that stands in the queue.
  struct Waiter {
    Waiter(TableEngine& the_engine, const Claim& claim)
        : engine(the_engine),
          id(claim.id),
          key(the_engine.table_->key_of(claim.name).key),
          alone(claim.mode == Mode::exclusive),
          told(the_engine.runtime()) {
      engine.waiters_.emplace(id, this);
      place = engine.lines_[key].insert(engine.lines_[key].end(), this);
    }
    ~Waiter() {
      engine.waiters_.erase(id);
      engine.leave_line(*this);
    }

    TableEngine& engine;
    ClaimId id;
    std::string key;
    bool alone;
    Event told;
    std::optional<Given> given;
    bool must_ask = false;  // it is not in the queue any more
    std::list<Waiter*>::iterator place;
  };
  using Line = std::list<Waiter*>;
  // Where waiters are not woken, the first of a line looks for those behind it: they look when it leaves.
  void leave_line(const Waiter& waiter);
  // It had lost its place in the queue, and queued again.
  void stand_last(const Waiter& waiter);

  // A waiter may wait for a connection, too: only its requests have the request timeout.
  Deadline answer_deadline(const Wait& wait) const {
    if (!wait.queue) return deadlines_.answer(wait);
    return wait.deadline.later(runtime().now() + kSqlAnswerGrace);
  }
  Task<Result<Grant>> try_once(const Claim& claim, const Wait& wait);
  // `tried`: it is known that somebody has it.
  Task<Result<Grant>> wait_in_line(const Claim& claim, const Wait& wait, bool tried);
  // Gets a claim into the queue, or tells how it stands there. With `turn`, a look is not enough.
  Task<Result<Taken>> stand(const Claim& claim, bool in_line, bool turn, const Wait& wait);
  BootTime next_look(const Waiter& self, const Claim& claim, const Standing& standing,
                     BootTime moved_up) const;
  Task<Result<Grant>> leave(const Claim& claim, Failure why);
  // A request that was given up may still be executed when the server gets to it, after the claim was
  // taken back. Nobody would know of that hold, so it is taken back again and again for a ttl. Safe
  // at any time: nobody asks with this id any more.
  void expect_late_execution(const Claim& claim);
  Task<void> sweep(Claim claim);
  void on_wake(const ClaimId& claim, const std::optional<Given>& given);

  std::shared_ptr<ServerExaminer> examiner_;
  const Deadlines deadlines_;
  std::unordered_map<ClaimId, Waiter*> waiters_;
  std::unordered_map<std::string, Line> lines_;  // the same by key, in the order in which they came
  ContentionHistory recently_contended_;
  std::unordered_set<ClaimId> given_up_;
  std::unique_ptr<LockTable> table_;
  Waking& waking_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

// Of recipe=table at a database server.
Guarantees server_guarantees(const char* engine);

}  // namespace holdfast::internal::table
