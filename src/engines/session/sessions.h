// Sessions: the connections of one client. Each hold and each wait has one to itself; those that
// nobody needs are kept for a while, because opening one takes longer than taking a lock. Inside
// the loop only.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <stop_token>
#include <utility>

#include "engines/session/session.h"

namespace holdfast::internal::session {

class ClerkLoan;

class Sessions {
 public:
  // At most `most` at a time; at most `idle` wait for use.
  Sessions(Runtime& runtime, Recipe& recipe, std::size_t most, std::size_t idle)
      : runtime_(runtime), recipe_(recipe), most_(most), most_idle_(idle), background_(runtime) {}
  ~Sessions() { background_.abandon(); }

  // One that is idle, or a new one. Not too many are opened at the same time: a server that is
  // overrun drops them, so who comes waits for the others, at most until the deadline.
  Task<Result<std::shared_ptr<Session>>> take(Deadline deadline, std::stop_token stop = {});
  // REQUIRES: nothing is held or under way in it. (One that is busy or lost is ended.)
  void give_back(std::shared_ptr<Session> session);
  // It will not come back.
  void forget(const std::shared_ptr<Session>& session);

  Task<Result<ClerkLoan>> take_clerk(Deadline deadline);

  void close();

 private:
  friend class ClerkLoan;
  struct Idle {
    std::shared_ptr<Session> session;
    BootTime until;
  };

  std::shared_ptr<Session> take_idle();
  Task<void> close_unused();
  void drop_unusable();
  void call_next();
  void give_back_clerk();

  Runtime& runtime_;
  Recipe& recipe_;
  std::size_t most_;
  std::size_t most_idle_;
  std::size_t in_use_ = 0;
  std::deque<Idle> idle_;  // the last used is last
  std::size_t opening_ = 0;
  std::list<Event*> line_;  // those who wait to open one
  std::shared_ptr<Session> clerk_;
  bool clerk_in_use_ = false;
  BootTime clerk_used_;
  std::list<Event*> clerk_line_;
  bool closing_unused_ = false;
  bool closed_ = false;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

// The clerk: one more session, in which all do what cannot be done in their own, in turn. Given
// back at the end.
class ClerkLoan {
 public:
  explicit ClerkLoan(Sessions& sessions) : sessions_(&sessions) {}
  ClerkLoan(ClerkLoan&& other) noexcept : sessions_(std::exchange(other.sessions_, nullptr)) {}
  ClerkLoan& operator=(ClerkLoan&&) = delete;
  ~ClerkLoan() {
    if (sessions_) sessions_->give_back_clerk();
  }
  Session* operator->() const { return sessions_->clerk_.get(); }

 private:
  Sessions* sessions_;
};

// A session for a question, given back at the end.
class Loan {
 public:
  Loan(Sessions& sessions, std::shared_ptr<Session> session)
      : sessions_(&sessions), session_(std::move(session)) {}
  Loan(Loan&&) noexcept = default;
  Loan& operator=(Loan&&) = delete;
  ~Loan() {
    if (session_) sessions_->give_back(std::move(session_));
  }
  Session* operator->() const { return session_.get(); }

 private:
  Sessions* sessions_;
  std::shared_ptr<Session> session_;
};

}  // namespace holdfast::internal::session
