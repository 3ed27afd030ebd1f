#include "engines/session/sessions.h"

#include <algorithm>

#include "base/failures.h"
#include "base/require.h"

namespace holdfast::internal::session {

namespace {

constexpr std::size_t kMaxOpening = 16;

// A place in a line, until it is called or leaves.
struct InLine {
  InLine(Runtime& runtime, std::list<Event*>& the_line)
      : called(runtime), line(the_line), place(line.insert(line.end(), &called)) {}
  ~InLine() {
    if (!called.is_set()) line.erase(place);
  }
  InLine(const InLine&) = delete;
  InLine& operator=(const InLine&) = delete;

  Event called;
  std::list<Event*>& line;
  std::list<Event*>::iterator place;
};

void call_first(std::list<Event*>& line) {
  if (line.empty()) return;
  line.front()->set();
  line.pop_front();
}

}  // namespace

std::shared_ptr<Session> Sessions::take_idle() {
  drop_unusable();
  if (idle_.empty()) return nullptr;
  std::shared_ptr<Session> session = std::move(idle_.back().session);
  idle_.pop_back();
  ++in_use_;
  return session;
}

Task<Result<std::shared_ptr<Session>>> Sessions::take(Deadline deadline, std::stop_token stop) {
  if (std::shared_ptr<Session> session = take_idle()) co_return session;
  while (opening_ >= kMaxOpening) {
    InLine place(runtime_, line_);
    const Woken woken = co_await place.called.wait(deadline, stop);
    if (woken != Woken::signalled && place.called.is_set()) call_next();  // It is not for us.
    if (woken == Woken::timed_out) {
      co_return Failure(Code::unreachable, "the database server is slow to take connections");
    }
    if (woken == Woken::cancelled) co_return cancelled_by_caller();
    if (std::shared_ptr<Session> session = take_idle()) co_return session;
  }
  if (in_use_ >= most_) {
    call_next();  // It may as well know.
    co_return Failure(Code::unreachable,
                      "this client already uses its " + std::to_string(most_) +
                          " connections (connections=N in the URL); each lock that is held or "
                          "waited for takes one");
  }
  ++in_use_;  // Before we wait: others count it.
  ++opening_;
  Result<Opened> opened = co_await recipe_.connect(deadline);
  --opening_;
  call_next();
  if (!opened) {
    --in_use_;
    co_return opened.failure();
  }
  co_return std::make_shared<Session>(runtime_, std::move(opened).value());
}

void Sessions::call_next() { call_first(line_); }

Task<Result<ClerkLoan>> Sessions::take_clerk(Deadline deadline) {
  while (clerk_in_use_) {
    InLine place(runtime_, clerk_line_);
    const Woken woken = co_await place.called.wait(deadline);
    if (woken == Woken::signalled) continue;
    if (place.called.is_set()) call_first(clerk_line_);  // It is not for us.
    co_return Failure(Code::unreachable, "the database server is slow");
  }
  clerk_in_use_ = true;
  ClerkLoan loan(*this);
  // The server ends it after ten minutes.
  constexpr Duration kLongestIdle = std::chrono::minutes(5);
  const BootTime now = runtime_.now();
  if (clerk_ && now - clerk_used_ > kLongestIdle) {
    clerk_->close();
    clerk_.reset();
  }
  clerk_used_ = now;
  if (!clerk_ || !clerk_->alive()) {
    Result<Opened> opened = co_await recipe_.connect(deadline);
    if (!opened) co_return opened.failure();
    clerk_ = std::make_shared<Session>(runtime_, std::move(opened).value());
  }
  co_return std::move(loan);
}

void Sessions::give_back_clerk() {
  clerk_in_use_ = false;
  if (clerk_ && (closed_ || clerk_->busy())) {
    clerk_->close();
    clerk_.reset();
  }
  call_first(clerk_line_);
}

void Sessions::give_back(std::shared_ptr<Session> session) {
  // Before the server would end it, which it would write into its log as somebody's fault.
  constexpr Duration kLongest = std::chrono::seconds(30);
  HOLDFAST_REQUIRE(session && in_use_ > 0);
  --in_use_;
  if (closed_ || session->busy() || !session->alive()) {
    session->close();
    return;
  }
  drop_unusable();
  if (idle_.size() >= most_idle_) {
    session->close();
    return;
  }
  Duration unused = kLongest;
  if (session->ends_after.count() > 0) {
    unused = std::min<Duration>(unused, session->ends_after / 2);
  }
  idle_.push_back({std::move(session), runtime_.now() + unused});
  call_next();
  if (!closing_unused_) {
    closing_unused_ = true;
    background_.spawn(close_unused());
  }
}

void Sessions::forget(const std::shared_ptr<Session>& session) {
  --in_use_;
  session->close();
}

void Sessions::drop_unusable() {
  const BootTime now = runtime_.now();
  std::erase_if(idle_, [&](const Idle& idle) {
    if (idle.session->alive() && now < idle.until) return false;
    idle.session->close();
    return true;
  });
}

Task<void> Sessions::close_unused() {
  constexpr Duration kOften = std::chrono::milliseconds(250);
  while (!idle_.empty()) {
    co_await sleep_until(runtime_, runtime_.now() + kOften, background_.stop_token());
    if (closed_) co_return;
    drop_unusable();
  }
  closing_unused_ = false;
}

void Sessions::close() {
  closed_ = true;
  background_.stop();
  if (clerk_) clerk_->close();
  for (const Idle& idle : std::exchange(idle_, {})) idle.session->close();
}

}  // namespace holdfast::internal::session
