#include "engines/zookeeper/records.h"

#include <algorithm>

#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::zookeeper {

namespace {

// In the name of a lock two hexadecimal digits follow each %.
constexpr std::string_view kRecordsNode = "%records";
constexpr char kPresent = '+';

std::string data_of(const std::optional<std::string>& value) {
  return value ? kPresent + *value : std::string();
}

std::optional<std::string> value_in(const std::string& data) {
  if (!data.starts_with(kPresent)) return std::nullopt;
  return data.substr(1);
}

}  // namespace

std::string Records::root() const {
  const std::string locks = nodes_.root();
  return (locks == "/" ? locks : locks + '/') + std::string(kRecordsNode);
}

Task<Result<Records::Found>> Records::look(Session& session, std::string path, Deadline deadline) {
  Requests requests;
  {
    // A write that changes nothing: see LockNodes::children_of().
    Requests::Transaction barrier(requests);
    barrier.check(path, -1);
  }
  requests.get_data(path, false);
  const Result<Answers> answers = co_await session.ask(std::move(requests), deadline);
  if (!answers) co_return unreachable_instead_of_unknown(answers.failure());
  const Reply& reply = answers->replies.back();
  if (reply.error == Error::no_node) co_return Found();
  if (!reply.ok()) co_return nodes_.failure_of(session, reply.error, "reading", path);
  co_return Found{value_in(reply.data), reply.stat->version};
}

Task<Result<std::optional<std::string>>> Records::read(std::shared_ptr<Session> session, Name name,
                                                       Deadline deadline) {
  Result<Found> found = co_await look(*session, root() + '/' + escaped_name(name, false), deadline);
  if (!found) co_return found.failure();
  co_return std::move(found->value);
}

Task<Result<Records::Written>> Records::write(Session& session, std::string path,
                                              std::optional<std::int32_t> version, std::string data,
                                              Deadline deadline) {
  Written written;
  for (const bool with_parents : {false, true}) {
    Requests requests;
    if (version) {
      requests.set_data(path, data, *version);
    } else {
      const std::string parent = root();
      for (std::size_t end = parent.find('/', 1); with_parents; end = parent.find('/', end + 1)) {
        requests.create(Op::create, parent.substr(0, end), {}, access_, CreateMode::persistent);
        if (end == std::string::npos) break;
      }
      requests.create(Op::create, path, data, access_, CreateMode::persistent);
    }
    const Result<Answers> answers = co_await session.ask(std::move(requests), deadline);
    if (!answers) co_return answers.failure();
    written.repeated = written.repeated || answers->repeated;
    const Error error = answers->replies.back().error;
    written.done = error == Error::none;
    const bool no_parents = !version && !with_parents && error == Error::no_node;
    if (no_parents) continue;
    const bool other = error == Error::bad_version || error == Error::node_exists ||
                       (version && error == Error::no_node);
    if (written.done || other) co_return written;
    co_return nodes_.failure_of(session, error, "writing", path);
  }
  co_return written;
}

Task<Result<bool>> Records::swap(std::shared_ptr<Session> session, Name name,
                                 std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) {
  const std::string path = root() + '/' + escaped_name(name, false);
  bool unsure = false;
  for (;;) {
    const Result<Found> found = co_await look(*session, path, deadline);
    if (!found) {
      if (unsure) co_return Failure(Code::unknown, found.message());
      co_return found.failure();
    }
    if (found->value == value) co_return true;
    if (found->value != expected) co_return false;
    const Result<Written> written =
        co_await write(*session, path, found->version, data_of(value), deadline);
    if (!written) co_return written.failure();
    if (written->done) co_return true;
    unsure = unsure || written->repeated;
    if (deadline.passed(runtime_.now())) {
      co_return Failure(unsure ? Code::unknown : Code::unreachable,
                        "ZooKeeper: the record of '" + name.display() + "' changes all the time");
    }
  }
}

Task<Result<std::vector<Record>>> Records::list(std::shared_ptr<Session> session,
                                                std::string prefix, Deadline deadline) {
  // Enough to hide the way to the server, and little enough for its buffers and ours.
  constexpr std::size_t kPart = 200;
  const std::string parent = root();
  const Result<std::vector<std::string>> children =
      co_await nodes_.children_of(*session, parent, true, deadline);
  if (!children) co_return children.failure();
  std::vector<Name> names;
  for (const std::string& child : *children) {
    const std::optional<Name> name = unescaped_name(child);
    if (name && name->bytes().starts_with(prefix)) names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  std::vector<Record> all;
  for (std::size_t begin = 0; begin < names.size(); begin += kPart) {
    const std::size_t end = std::min(begin + kPart, names.size());
    Requests requests;
    for (std::size_t i = begin; i < end; ++i) {
      requests.get_data(parent + '/' + escaped_name(names[i], false), false);
    }
    const Result<Answers> answers = co_await session->ask(std::move(requests), deadline);
    if (!answers) co_return unreachable_instead_of_unknown(answers.failure());
    for (std::size_t i = begin; i < end; ++i) {
      const Reply& reply = answers->replies[i - begin];
      if (!reply.ok()) continue;  // not ours to read
      std::optional<std::string> value = value_in(reply.data);
      if (value) all.push_back({names[i], std::move(*value)});
    }
  }
  co_return all;
}

}  // namespace holdfast::internal::zookeeper
