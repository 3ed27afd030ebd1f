#include "engines/session/sessions.h"

#include <algorithm>

namespace holdfast::internal::session {

namespace {
constexpr std::size_t kMostOpening = 16;
}

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
  while (opening_ >= kMostOpening) {
    Event called(runtime_);
    const auto place = line_.insert(line_.end(), &called);
    const Woken woken = co_await called.wait(deadline, stop);
    if (woken != Woken::signalled) line_.erase(place);
    if (woken == Woken::timed_out) {
      co_return Failure(Code::unreachable, "the database server is slow to take connections");
    }
    if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
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

void Sessions::call_next() {
  if (line_.empty()) return;
  line_.front()->set();
  line_.pop_front();
}

void Sessions::give_back(std::shared_ptr<Session> session) {
  // Before the server would end it, which it would write into its log as somebody's fault.
  constexpr Duration kLongest = std::chrono::seconds(30);
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
  if (session->idle_seconds > 0) {
    unused = std::min<Duration>(unused, std::chrono::seconds(session->idle_seconds) / 2);
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
  for (const Idle& idle : std::exchange(idle_, {})) idle.session->close();
}

}  // namespace holdfast::internal::session
