#include "engines/redis/connection.h"

#include <algorithm>

namespace holdfast::internal::redis {

Connection::Connection(Runtime& runtime, ConnectionSettings settings, Locate where)
    : runtime_(runtime),
      settings_(std::move(settings)),
      where_(std::move(where)),
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
  const std::string where = endpoint_ == Endpoint() ? "Redis" : "Redis at " + endpoint_.display();
  return Failure(code, where + ": " + why);
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
    const std::string hint = settings_.tls ? "; does it speak TLS?" : "";
    co_return failed(Code::unreachable,
                     "no connection in time" + (known ? " (" + last.message() + ")" : hint));
  }
  if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
  if (connected()) co_return Result<void>();
  if (!reopening_.last()) co_return reopening_.last().failure();
  co_return failed(Code::unreachable, why_closed_);
}

void Connection::clear() {
  stream_.reset();
  // Their callers have left with the failed log-in; the next connection's replies are not theirs.
  first_in_flight_ += in_flight_.size();
  in_flight_.clear();
  ++generation_;  // INFO may have been answered before the log-in failed.
}

Task<Result<void>> Connection::try_to_open() {
  const Deadline deadline = Deadline::at(runtime_.now() + settings_.connect_timeout);
  Result<Endpoint> endpoint = co_await where_(deadline);
  if (!endpoint) co_return endpoint.failure();
  endpoint_ = std::move(endpoint).value();
  parser_ = std::make_unique<ReplyParser>();
  closed_ = false;
  spoke_unasked_ = false;
  Result<std::unique_ptr<Stream>> stream =
      co_await Stream::connect(runtime_, endpoint_, settings_.tls, *this, deadline);
  if (!stream) co_return failed(stream.code(), stream.message());
  silence_.heard();
  if (closed_) co_return failed(Code::unreachable, why_closed_);
  stream_ = std::move(stream).value();
  const Result<void> entered = co_await log_in(deadline);
  if (!entered) co_return entered;
  if (closed_) co_return failed(Code::unreachable, why_closed_);
  ready_ = true;
  co_return Result<void>();
}

Task<Result<void>> Connection::log_in(Deadline deadline) {
  const Login& login = settings_.login;
  std::vector<Words> greeting;
  const std::string database = std::to_string(login.database);
  if (!login.password.empty()) {
    greeting.push_back(Words{"AUTH"});
    if (!login.user.empty()) greeting.back().add(login.user);
    greeting.back().add(login.password);
  }
  if (login.database != 0) greeting.push_back({"SELECT", database});
  const std::size_t required = greeting.size();
  // For people, and for warnings: a user without the right to these can still lock.
  greeting.push_back({"CLIENT", "SETNAME", login.client_name});
  if (on_info) greeting.push_back({"INFO", settings_.info});
  if (settings_.must_be_master) greeting.push_back(Words{"ROLE"});
  const std::size_t first_question = greeting.size();
  greeting.insert(greeting.end(), questions.begin(), questions.end());
  // All in one write, or a short-lived command would wait for each.
  std::deque<Pending> calls;
  std::string bytes;
  for (const Words& words : greeting) {
    calls.emplace_back(*this, std::string());
    bytes += encode(words);
  }
  stream_->send(bytes);
  const Reply* complaint = nullptr;
  std::vector<Reply> answers;
  for (std::size_t i = 0; i < greeting.size(); ++i) {
    co_await calls[i].done.wait(deadline);
    const Result<Answer>& answer = calls[i].outcome;
    if (!answer && complaint) co_return failure_of(*complaint, endpoint_);  // and then it closed
    if (!answer && closed_ && i == 0 && !settings_.tls) {
      co_return failed(Code::unreachable, why_closed_ + "; does it want TLS (rediss://)?");
    }
    if (!answer) co_return failed(Code::unreachable, closed_ ? why_closed_ : "no answer in time");
    const Reply& reply = answer->reply;
    if (i >= first_question) {
      answers.push_back(reply);
      continue;
    }
    if (reply.is_error()) complaint = &reply;
    if (i < required && reply.is_error()) co_return failure_of(reply, endpoint_);
    // Without a password the first command of all tells that one is needed.
    if (reply.is_error("NOAUTH")) co_return failure_of(reply, endpoint_);
    if (greeting[i].at(0) == "INFO" && !reply.is_error()) on_info(reply.text);
    if (greeting[i].at(0) == "ROLE" && !reply.is_error() && reply.at(0).text != "master") {
      co_return failed(Code::unreachable, "it is a " + reply.at(0).text + " now, not the master");
    }
  }
  if (on_greeted) co_return on_greeted(answers, endpoint_);
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

Connection::Pending::Pending(Connection& connection, const std::string& command)
    : owner(connection),
      number(connection.first_in_flight_ + connection.in_flight_.size()),
      sent_at(connection.runtime_.now()),
      done(connection.runtime_),
      outcome(Failure(Code::unknown, {})) {
  owner.in_flight_.push_back({this, sent_at});
  if (!command.empty()) owner.stream_->send(command);
}

Connection::Pending::~Pending() {
  if (!settled) owner.in_flight_[number - owner.first_in_flight_].caller = nullptr;
}

Task<Result<Answer>> Connection::call(std::string command, Deadline deadline,
                                      std::stop_token stop) {
  if (!connected()) {
    Result<void> opened = co_await open(deadline, stop);
    if (!opened) co_return opened.failure();
  }
  Pending pending(*this, command);
  const Woken woken = co_await pending.done.wait(deadline, std::move(stop));
  if (woken == Woken::timed_out && !pending.settled) give_up_if_silent(pending.sent_at);
  if (!pending.settled) co_return failed(Code::unknown, "no answer in time");
  co_return std::move(pending.outcome);
}

void Connection::give_up_if_silent(BootTime sent_at) {
  if (silence_.is_dead(sent_at)) drop("no answer any more");
}

Task<std::vector<Result<Answer>>> Connection::call_all(std::vector<std::string> commands,
                                                       Deadline deadline, std::stop_token stop) {
  std::vector<Result<Answer>> outcomes;
  outcomes.reserve(commands.size());
  if (!connected()) {
    const Result<void> opened = co_await open(deadline, stop);
    if (!opened) {
      outcomes.assign(commands.size(), opened.failure());
      co_return outcomes;
    }
  }
  std::deque<Pending> calls;
  std::string bytes;
  for (const std::string& command : commands) {
    calls.emplace_back(*this, std::string());
    bytes += command;
  }
  stream_->send(bytes);
  for (Pending& call : calls) {
    const Woken woken = co_await call.done.wait(deadline, stop);
    if (woken == Woken::timed_out && !call.settled) give_up_if_silent(call.sent_at);
    if (call.settled) {
      outcomes.push_back(std::move(call.outcome));
    } else {
      outcomes.emplace_back(failed(Code::unknown, "no answer in time"));
    }
  }
  co_return outcomes;
}

// ---- Hearing -----------------------------------------------------------------------------------

void Connection::on_bytes(std::string_view bytes) {
  std::string problem;
  const bool sound =
      parser_->feed(bytes, [this](Reply reply) { on_reply(std::move(reply)); }, problem);
  if (!sound) {
    on_closed("it does not speak the Redis protocol (" + problem + ")");
  } else if (spoke_unasked_) {
    // Whatever comes next could be taken for the answer to another question.
    on_closed("it said something that nobody asked for");
  }
}

void Connection::on_reply(Reply reply) {
  silence_.heard();
  const bool push = reply.kind == Reply::Kind::array && !reply.items.empty() && on_push &&
                    reply.at(0).text == "message";
  if (push) {
    on_push(reply);
    return;
  }
  if (in_flight_.empty()) {
    spoke_unasked_ = true;
    return;
  }
  Pending* pending = in_flight_.front().caller;
  in_flight_.pop_front();
  ++first_in_flight_;
  if (!pending) return;
  pending->settled = true;
  pending->outcome = Answer{std::move(reply), pending->sent_at, generation_};
  pending->done.set();
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
  for (const InFlight& sent : std::exchange(in_flight_, {})) {
    ++first_in_flight_;
    if (!sent.caller) continue;
    sent.caller->settled = true;
    sent.caller->outcome = failed(Code::unknown, why_closed_);
    sent.caller->done.set();
  }
  if (on_lost) on_lost();
}

Failure failure_of(const Reply& error, const Endpoint& server) {
  const std::string where = "Redis at " + server.display() + ": ";
  const auto is = [&](std::string_view word) { return error.is_error(word); };
  const auto misconfigured = [&](const std::string& why) {
    return Failure(Code::misconfigured, where + why);
  };
  if (is("NOAUTH")) return misconfigured("it wants a password; write redis://:PASSWORD@HOST");
  if (is("WRONGPASS") || is("ERR invalid password") || is("ERR AUTH")) {
    return misconfigured("the user or password is wrong (" + error.text + ")");
  }
  if (is("NOPERM") || error.text.find("NOPERM") != std::string::npos ||
      error.text.find("ACL failure") != std::string::npos ||
      error.text.find("The user executing the script can't") != std::string::npos) {
    return misconfigured("the user lacks rights (" + error.text +
                         "); docs/engines/redis.md names what it needs");
  }
  if (is("WRONGTYPE") || error.text.find("WRONGTYPE") != std::string::npos) {
    return misconfigured("a key of another type stands where the lock's key should be");
  }
  if (error.text.find("value is not an integer") != std::string::npos) {
    return misconfigured("the key of the lock's tokens holds something else");
  }
  if (is("ERR DB index") || is("ERR invalid DB") || is("ERR SELECT is not allowed")) {
    return misconfigured("there is no such database (" + error.text + ")");
  }
  if (is("NOREPLICAS")) return Failure(Code::unreachable, where + "it misses its replicas");
  if (is("ASK ") || is("TRYAGAIN")) {
    return Failure(Code::unreachable,
                   where + "the lock's slot is being moved to another node; try again");
  }
  if (is("MOVED")) return misconfigured("it is a node of a cluster; write redis+cluster://");
  if (is("READONLY")) return Failure(Code::unreachable, where + "it is a read-only replica");
  if (error.text.find("OOM ") != std::string::npos) {
    return Failure(
        Code::unreachable,
        where + "it is out of memory (maxmemory); it grants no lock until there is some");
  }
  if (is("LOADING")) return Failure(Code::unreachable, where + "it is still loading its data");
  return Failure(Code::unreachable, where + error.text);
}

}  // namespace holdfast::internal::redis
