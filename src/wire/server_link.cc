#include "wire/server_link.h"

#include "base/failures.h"
#include "base/server_reporter.h"
#include "holdfast/async.h"

namespace holdfast::internal {

ServerLink::ServerLink(Runtime& runtime, std::string server, std::shared_ptr<const TlsContext> tls,
                       Duration connect_timeout)
    : runtime_(runtime),
      server_(std::move(server)),
      tls_(std::move(tls)),
      connect_timeout_(connect_timeout),
      reopening_(runtime, [this] { return try_to_open(); }, [this] { on_failed_opening(); }) {}

Failure ServerLink::failed(Code code, const std::string& why) const {
  const std::string where = endpoint_ == Endpoint() ? "" : " at " + endpoint_.display();
  return Failure(code, server_ + where + ": " + why);
}

void ServerLink::begin_to_open() {
  if (!connected()) reopening_.begin();
}

Task<Result<void>> ServerLink::open(Deadline deadline, std::stop_token stop) {
  if (connected()) co_return Result<void>();
  begin_to_open();
  const Woken woken = co_await reopening_.wait(deadline, std::move(stop));
  if (woken == Woken::timed_out) {
    const Result<void>& last = reopening_.last();
    const bool known = !last && !last.message().empty();
    const std::string hint = tls_ ? "; does it speak TLS?" : "";
    co_return failed(Code::unreachable,
                     "no connection in time" + (known ? " (" + last.message() + ")" : hint));
  }
  if (woken == Woken::cancelled) co_return cancelled_by_caller();
  if (connected()) co_return Result<void>();
  if (!reopening_.last()) co_return reopening_.last().failure();
  co_return failed(Code::unreachable, why_closed_);
}

Task<Result<void>> ServerLink::try_to_open() {
  const Deadline deadline = Deadline::at(runtime_.now() + connect_timeout_);
  closed_ = false;
  Result<Endpoint> where = co_await prepare(deadline);
  if (!where) co_return where.failure();
  endpoint_ = std::move(where).value();
  const Result<void> connected = co_await contained(connect(deadline));
  report_opening(runtime_, endpoint_.display(), connected);
  co_return connected;
}

Task<Result<void>> ServerLink::connect(Deadline deadline) {
  Result<std::unique_ptr<Stream>> stream =
      co_await Stream::connect(runtime_, endpoint_, tls_, *this, deadline);
  if (!stream) co_return failed(stream.code(), stream.message());
  if (closed_) co_return failed(Code::unreachable, why_closed_);
  stream_ = std::move(stream).value();
  const Result<void> greeted = co_await greet(deadline);
  if (!greeted) co_return greeted;
  if (closed_) co_return failed(Code::unreachable, why_closed_);
  ready_ = true;
  co_return Result<void>();
}

void ServerLink::on_failed_opening() {
  stream_.reset();
  ++generation_;  // The greeting may have told something of this server already.
  break_calls("it could not be opened");
}

void ServerLink::drop(const std::string& why) {
  if (stream_) {
    on_closed(why);
  } else if (reopening_.under_way()) {
    closed_ = true;  // The connection that is being opened is not wanted any more.
    why_closed_ = why;
  }
}

void ServerLink::on_closed(const std::string& why) {
  if (ready_) {
    report_lost(runtime_, endpoint_.display(), failed(Code::unreachable, why));
  }
  why_closed_ = why;
  closed_ = true;
  ready_ = false;
  ++generation_;
  stream_.reset();
  break_calls(why_closed_);
  on_ended();
}

}  // namespace holdfast::internal
