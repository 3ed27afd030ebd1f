#include "engines/memcached/connection.h"

#include <algorithm>

namespace holdfast::internal::memcached {

Connection::Connection(Runtime& runtime, const Settings& settings)
    : runtime_(runtime),
      settings_(settings),
      silence_(runtime),
      reopening_(runtime, [this] { return try_to_open(); }, [this] { clear(); }) {}

Connection::~Connection() {
  reopening_.abandon();
  silence_.abandon();
  for (const InFlight& sent : in_flight_) {
    if (sent.caller) sent.caller->settled = true;  // It must not look for us any more.
  }
}

Failure Connection::failed(Code code, const std::string& why) const {
  return Failure(code, "memcached at " + settings_.endpoint.display() + ": " + why);
}

// ---- Opening -----------------------------------------------------------------------------------

void Connection::begin_to_open() {
  if (!connected()) reopening_.begin();
}

Task<Result<void>> Connection::open(Deadline deadline, std::stop_token stop) {
  if (connected()) co_return Result<void>();
  begin_to_open();
  const Woken woken = co_await reopening_.wait(deadline, std::move(stop));
  if (woken == Woken::timed_out) {
    const Result<void>& last = reopening_.last();
    const bool known = !last && !last.message().empty();
    co_return failed(Code::unreachable,
                     "no connection in time" + (known ? " (" + last.message() + ")" : ""));
  }
  if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
  if (connected()) co_return Result<void>();
  if (!reopening_.last()) co_return reopening_.last().failure();
  co_return failed(Code::unreachable, why_closed_);
}

void Connection::clear() {
  stream_.reset();
  forget_pending();
}

Task<Result<void>> Connection::try_to_open() {
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connect_timeout);
  parser_ = ReplyParser();
  closed_ = false;
  spoke_unasked_ = false;
  Result<std::unique_ptr<Stream>> stream =
      co_await Stream::connect(runtime_, settings_.endpoint, nullptr, *this, deadline);
  if (!stream) co_return failed(stream.code(), stream.message());
  silence_.heard();
  if (closed_) co_return failed(Code::unreachable, why_closed_);
  stream_ = std::move(stream).value();
  const Result<void> greeted = co_await greet(deadline);
  if (!greeted) co_return greeted;
  if (closed_) co_return failed(Code::unreachable, why_closed_);
  ready_ = true;
  co_return Result<void>();
}

// Is it a memcached, and one that is new enough?
Task<Result<void>> Connection::greet(Deadline deadline) {
  Pending greeting(*this, 2);
  stream_->send("version\r\nmn\r\n");
  const Woken woken = co_await greeting.done.wait(deadline);
  const std::vector<Reply>& replies = greeting.answers.replies;
  // A server that wants a login may say so and close at once.
  if (!replies.empty() && replies[0].is_error()) co_return failure_of(replies[0]);
  if (!replies.empty() && !replies[0].is("VERSION")) {
    co_return failed(Code::misconfigured,
                     "it is not a memcached: it said '" + replies[0].text().substr(0, 100) + "'");
  }
  if (woken != Woken::signalled) co_return failed(Code::unreachable, "no answer in time");
  if (greeting.broken) {
    co_return failed(Code::unreachable, why_closed_ + "; does it speak the text protocol?");
  }
  version_ = replies[0].rest;
  if (!replies[1].is("MN")) co_return failure_of(replies[1]);
  co_return Result<void>();
}

std::optional<BootTime> Connection::oldest_sent() const {
  if (in_flight_.empty()) return std::nullopt;
  return in_flight_.front().sent_at;
}

bool Connection::unresponsive(Duration patience) {
  if (!connected()) return reopening_.is_hard(patience);
  if (silence_.is_hopeless(oldest_sent(), patience)) {
    drop("no answer any more");  // Nobody else might ask, and so find out.
    return true;
  }
  return silence_.is_silent(oldest_sent(), patience);
}

// ---- Calling -----------------------------------------------------------------------------------

Connection::Pending::Pending(Connection& connection, std::size_t count)
    : owner(connection),
      number(connection.first_pending_ + connection.in_flight_.size()),
      done(connection.runtime_) {
  answers.replies.reserve(count);
  answers.sent_at = connection.runtime_.now();
  answers.generation = connection.generation_;
  owner.in_flight_.push_back({this, count, answers.sent_at});
}

Connection::Pending::~Pending() {
  if (!settled) owner.in_flight_[number - owner.first_pending_].caller = nullptr;
}

Task<Result<Answers>> Connection::call(std::string commands, std::size_t count, Deadline deadline,
                                       std::stop_token stop) {
  if (!connected()) {
    const Result<void> opened = co_await open(deadline, stop);
    if (!opened) co_return opened.failure();
  }
  Pending pending(*this, count);
  stream_->send(commands);
  const Woken woken = co_await pending.done.wait(deadline, std::move(stop));
  if (woken == Woken::timed_out && !pending.settled) give_up_if_silent(pending.answers.sent_at);
  if (!pending.settled) co_return failed(Code::unknown, "no answer in time");
  if (pending.broken) co_return failed(Code::unknown, why_closed_);
  co_return std::move(pending.answers);
}

void Connection::give_up_if_silent(BootTime sent_at) {
  if (silence_.is_dead(sent_at)) drop("no answer any more");
}

// ---- Hearing -----------------------------------------------------------------------------------

void Connection::on_bytes(std::string_view bytes) {
  std::string problem;
  const bool sound =
      parser_.feed(bytes, [this](Reply reply) { on_reply(std::move(reply)); }, problem);
  if (!sound) {
    on_closed("it does not speak memcached's protocol (" + problem + ")");
  } else if (spoke_unasked_) {
    // Whatever comes next could be taken for the answer to another question.
    on_closed("it said something that nobody asked for");
  }
}

void Connection::on_reply(Reply reply) {
  silence_.heard();
  if (in_flight_.empty()) {
    spoke_unasked_ = true;
    return;
  }
  InFlight& sent = in_flight_.front();
  Pending* const caller = sent.caller;
  if (caller) caller->answers.replies.push_back(std::move(reply));
  if (--sent.missing > 0) return;
  in_flight_.pop_front();
  ++first_pending_;
  if (!caller) return;
  caller->settled = true;
  caller->done.set();
}

void Connection::drop(const std::string& why) {
  if (stream_) {
    on_closed(why);
  } else if (reopening_.under_way()) {
    closed_ = true;  // The connection that is being opened is not wanted any more.
    why_closed_ = why;
  }
}

void Connection::on_closed(const std::string& why) {
  why_closed_ = why;
  closed_ = true;
  ready_ = false;
  ++generation_;
  stream_.reset();
  forget_pending();
}

void Connection::forget_pending() {
  for (const InFlight& sent : std::exchange(in_flight_, {})) {
    ++first_pending_;
    if (!sent.caller) continue;
    sent.caller->settled = true;
    sent.caller->broken = true;
    sent.caller->done.set();
  }
}

Failure Connection::failure_of(const Reply& reply) {
  const std::string said = "'" + reply.text().substr(0, 100) + "'";
  if (reply.is("SERVER_ERROR")) {
    if (reply.rest.starts_with("out of memory")) {
      return failed(Code::unreachable, "it is out of memory (" + said + ")");
    }
    if (reply.rest.starts_with("object too large")) {
      return failed(Code::misconfigured, "it takes no items of this size (memcached -I)");
    }
    return failed(Code::unreachable, said);
  }
  if (reply.rest.starts_with("cannot increment")) {
    return failed(Code::misconfigured, "the key of the lock's tokens holds something else");
  }
  drop("an answer that makes no sense, " + said);
  if (reply.is("CLIENT_ERROR") && reply.rest.find("auth") != std::string::npos) {
    return failed(Code::misconfigured,
                  "it wants a login, which this engine does not have (" + said + ")");
  }
  if (reply.is("ERROR")) {
    return failed(Code::misconfigured,
                  "it does not know the meta commands; memcached 1.6 or newer is needed" +
                      (version_.empty() ? "" : ", and this is " + version_));
  }
  return failed(Code::unknown, "an answer that makes no sense, " + said);
}

}  // namespace holdfast::internal::memcached
