#include "holdfast/runtime.h"

namespace holdfast {

void Event::set() {
  if (set_) return;
  set_ = true;
  while (!waiters_.empty()) waiters_.front()->wake(Woken::signalled);
}

Event::Awaiter Event::wait(Deadline deadline, std::stop_token stop) {
  return Awaiter(*this, deadline, std::move(stop));
}

Event::Awaiter::~Awaiter() {
  if (!handle_) return;
  if (on_stop_) {
    on_stop_.reset();  // First: once it is gone, no other thread can post the cancellation again.
    event_.runtime_.withdraw(cancellation_);
  }
  event_.runtime_.drop(*this);
  unlink();
}

bool Event::Awaiter::await_ready() {
  if (event_.set_) {
    woken_ = Woken::signalled;
  } else if (stop_.stop_requested()) {
    woken_ = Woken::cancelled;
  } else if (deadline_.passed(event_.runtime_.now())) {
    woken_ = Woken::timed_out;
  }
  return woken_.has_value();
}

void Event::Awaiter::await_suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  place_ = event_.waiters_.insert(event_.waiters_.end(), this);
  linked_ = true;
  if (!deadline_.is_never()) event_.runtime_.arm(*this, deadline_.moment());
  if (stop_.stop_possible()) on_stop_.emplace(std::move(stop_), OnStop{this});
}

void Event::Awaiter::OnStop::operator()() const noexcept {
  awaiter->event_.runtime_.post(awaiter->cancellation_);
}

void Event::Awaiter::Cancellation::run() {
  if (!awaiter_.woken_) awaiter_.wake(Woken::cancelled);
}

void Event::Awaiter::wake(Woken why) {
  woken_ = why;
  unlink();
  event_.runtime_.defer(*this);
}

void Event::Awaiter::unlink() {
  event_.runtime_.disarm(*this);
  if (linked_) event_.waiters_.erase(place_);
  linked_ = false;
}

}  // namespace holdfast
