#include "engines/memcached/connection.h"

#include <algorithm>

#include "base/server_reporter.h"

namespace holdfast::internal::memcached {

Connection::Connection(Runtime& runtime, const Settings& settings)
    : PipelinedConnection(runtime, "memcached", nullptr, settings.connect_timeout),
      settings_(settings) {
  set_endpoint(settings_.endpoint);
}

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<Endpoint>> Connection::prepare(Deadline) {
  parser_ = ReplyParser();
  spoke_unasked_ = false;
  co_return settings_.endpoint;
}

// Is it a memcached, and one that is new enough?
Task<Result<void>> Connection::greet(Deadline deadline) {
  heard();
  Pending greeting(*this, 2);
  stream().send("version\r\nmn\r\n");
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
    co_return failed(Code::unreachable, why_closed() + "; does it speak the text protocol?");
  }
  version_ = replies[0].rest;
  if (!replies[1].is("MN")) co_return failure_of(replies[1]);
  co_return Result<void>();
}

// ---- Calling -----------------------------------------------------------------------------------

Connection::Pending::Pending(Connection& connection, std::size_t count) : Call(connection, count) {
  answers.replies.reserve(count);
  answers.sent_at = sent_at;
  answers.generation = connection.generation();
}

Task<Result<Answers>> Connection::call(std::string commands, std::size_t count, Deadline deadline,
                                       std::stop_token stop) {
  if (!connected()) {
    const Result<void> opened = co_await open(deadline, stop);
    if (!opened) co_return opened.failure();
  }
  Pending pending(*this, count);
  stream().send(commands);
  const Woken woken = co_await pending.done.wait(deadline, std::move(stop));
  if (woken == Woken::timed_out && !pending.settled) give_up_if_silent(pending);
  if (!pending.settled) co_return failed(Code::unknown, "no answer in time");
  if (pending.broken) co_return failed(Code::unknown, why_closed());
  co_return std::move(pending.answers);
}

// ---- Hearing -----------------------------------------------------------------------------------

void Connection::on_bytes(std::string_view bytes) {
  std::string problem;
  const bool sound =
      parser_.feed(bytes, [this](Reply&& reply) { on_reply(std::move(reply)); }, problem);
  if (!sound) {
    on_closed("it does not speak memcached's protocol (" + problem + ")");
  } else if (spoke_unasked_) {
    // Whatever comes next could be taken for the answer to another question.
    on_closed("it said something that nobody asked for");
  }
}

void Connection::on_reply(Reply&& reply) {
  heard();
  if (!expects_answer()) {
    spoke_unasked_ = true;
    return;
  }
  if (auto* pending = static_cast<Pending*>(caller())) {
    pending->answers.replies.push_back(std::move(reply));
  }
  take_answer();
}

void Connection::break_calls(const std::string&) {
  settle_all([](Call& call) { static_cast<Pending&>(call).broken = true; });
}

Failure Connection::failure_of(const Reply& reply) {
  const bool refuses_call = connected();  // It is no part of being connected to.
  Failure why = read_failure(reply);
  if (refuses_call) report_refused(runtime(), endpoint().display(), why);
  return why;
}

Failure Connection::read_failure(const Reply& reply) {
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
