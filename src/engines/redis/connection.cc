#include "engines/redis/connection.h"

#include <algorithm>

#include "base/server_reporter.h"

namespace holdfast::internal::redis {

namespace {

void hide(const std::string& secret, std::string& text) {
  if (secret.empty()) return;
  for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos;) {
    text.replace(at, secret.size(), "***");
    at += 3;
  }
}

}  // namespace

Connection::Connection(Runtime& runtime, ConnectionSettings settings, Locate where)
    : PipelinedConnection(runtime, "Redis", settings.tls, settings.connect_timeout),
      settings_(std::move(settings)),
      where_(std::move(where)) {}

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<Endpoint>> Connection::prepare(Deadline deadline) {
  parser_ = std::make_unique<ReplyParser>();
  spoke_unasked_ = false;
  return where_(deadline);
}

Task<Result<void>> Connection::greet(Deadline deadline) {
  heard();
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
    calls.emplace_back(*this);
    bytes += encode(words);
  }
  stream().send(bytes);
  const Reply* complaint = nullptr;
  std::vector<Reply> answers;
  for (std::size_t i = 0; i < greeting.size(); ++i) {
    co_await calls[i].done.wait(deadline);
    Result<Answer>& answer = calls[i].outcome;
    if (!answer && complaint) co_return failure_of(*complaint, endpoint());  // and then it closed
    if (!answer && closed() && i == 0 && !settings_.tls) {
      co_return failed(Code::unreachable, why_closed() + "; does it want TLS (rediss://)?");
    }
    if (!answer) co_return failed(Code::unreachable, closed() ? why_closed() : "no answer in time");
    Reply& reply = answer->reply;
    // A server that does not know AUTH repeats what it was given.
    if (i == 0 && reply.is_error()) hide(login.password, reply.text);
    if (i >= first_question) {
      answers.push_back(reply);
      continue;
    }
    if (reply.is_error()) complaint = &reply;
    if (i < required && reply.is_error()) co_return failure_of(reply, endpoint());
    // Without a password the first command of all tells that one is needed.
    if (reply.is_error("NOAUTH")) co_return failure_of(reply, endpoint());
    if (greeting[i].at(0) == "INFO" && !reply.is_error()) on_info(reply.text);
    if (greeting[i].at(0) == "ROLE" && !reply.is_error() && reply.at(0).text != "master") {
      co_return failed(Code::unreachable, "it is a " + reply.at(0).text + " now, not the master");
    }
  }
  if (on_greeted) co_return on_greeted(answers, endpoint());
  co_return Result<void>();
}

// ---- Calling -----------------------------------------------------------------------------------

Task<Result<Answer>> Connection::call(std::string command, Deadline deadline,
                                      std::stop_token stop) {
  if (!connected()) {
    Result<void> opened = co_await open(deadline, stop);
    if (!opened) co_return opened.failure();
  }
  Pending pending(*this);
  stream().send(command);
  const Woken woken = co_await pending.done.wait(deadline, std::move(stop));
  if (woken == Woken::timed_out && !pending.settled) give_up_if_silent(pending);
  if (!pending.settled) co_return failed(Code::unknown, "no answer in time");
  co_return std::move(pending.outcome);
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
    calls.emplace_back(*this);
    bytes += command;
  }
  stream().send(bytes);
  for (Pending& call : calls) {
    const Woken woken = co_await call.done.wait(deadline, stop);
    if (woken == Woken::timed_out && !call.settled) give_up_if_silent(call);
    if (call.settled) {
      outcomes.push_back(std::move(call.outcome));
    } else {
      outcomes.emplace_back(failed(Code::unknown, "no answer in time"));
    }
  }
  co_return outcomes;
}

Failure Connection::refused(const Reply& error) const {
  Failure why = failure_of(error, endpoint());
  report_refused(runtime(), endpoint().display(), why);
  return why;
}

// ---- Hearing -----------------------------------------------------------------------------------

void Connection::on_bytes(std::string_view bytes) {
  std::string problem;
  const bool sound =
      parser_->feed(bytes, [this](Reply&& reply) { on_reply(std::move(reply)); }, problem);
  if (!sound) {
    on_closed("it does not speak the Redis protocol (" + problem + ")");
  } else if (spoke_unasked_) {
    // Whatever comes next could be taken for the answer to another question.
    on_closed("it said something that nobody asked for");
  }
}

void Connection::on_reply(Reply&& reply) {
  heard();
  const bool push = reply.kind == Reply::Kind::array && !reply.items.empty() && on_push &&
                    reply.at(0).text == "message";
  if (push) {
    on_push(reply);
    return;
  }
  if (!expects_answer()) {
    spoke_unasked_ = true;
    return;
  }
  if (auto* pending = static_cast<Pending*>(caller())) {
    pending->outcome = Answer{std::move(reply), pending->sent_at, generation()};
  }
  take_answer();
}

void Connection::break_calls(const std::string& why) {
  settle_all([&](Call& call) { static_cast<Pending&>(call).outcome = failed(Code::unknown, why); });
}

void Connection::on_ended() {
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
  if (is("NOREPLICAS"))
    return Failure(Code::unreachable,
                   where + "fewer replicas are connected than min-replicas-to-write demands");
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
