#include "wire/server_group.h"

#include <algorithm>

#include "holdfast/async.h"
#include "wire/connect.h"

namespace holdfast::internal {

namespace {

// So long the first answer of a server that can be written waits for those of the others.
constexpr Duration kGrace = std::chrono::milliseconds(100);

}  // namespace

// ---- Connections -------------------------------------------------------------------------------

SqlConnection::~SqlConnection() {
  if (group_) group_->leave(*this);
}

void SqlConnection::report_read_only() {
  const std::shared_ptr<ServerGroup> group = group_;
  if (group) group->on_read_only(*this);
}

void ServerGroup::leave(const SqlConnection& connection) {
  members_.remove_if([&](const Member& each) { return each.connection == &connection; });
}

void ServerGroup::on_read_only(const SqlConnection& connection) {
  for (const Member& member : members_) {
    if (member.connection != &connection) continue;
    // An old connection says nothing of the server that is in use by now.
    if (member.server == in_use_) {
      in_use_.reset();
      ++changes_;
      close_all_but(std::nullopt);
    } else {
      member.connection->close();
    }
    return;
  }
}

void ServerGroup::use(std::size_t server) {
  if (in_use_ == server) return;
  in_use_ = server;
  ++changes_;
  close_all_but(server);
}

void ServerGroup::close_all_but(std::optional<std::size_t> server) {
  // Closing wakes others and runs none of their code, so nobody leaves meanwhile.
  for (const Member& member : members_) {
    if (member.server != server) member.connection->close();
  }
}

Endpoint ServerGroup::together() const {
  Endpoint all = endpoints_.front();
  for (const Endpoint& each : endpoints_) {
    all.several += (all.several.empty() ? "" : ",") + each.display();
  }
  return all;
}

// ---- Asking ------------------------------------------------------------------------------------

struct ServerGroup::Survey {
  Survey(Runtime& the_runtime, const Ask& the_ask, const std::vector<Endpoint>& endpoints)
      : runtime(the_runtime),
        ask(the_ask),
        connections(endpoints.size()),
        asked(endpoints.size()),
        changed(the_runtime),
        tasks(the_runtime) {
    for (const Endpoint& each : endpoints) answers.push_back({each.display(), {}, {}});
  }

  bool answered(std::size_t server) const {
    return answers[server].state || answers[server].failure;
  }
  bool writable(std::size_t server) const {
    return answers[server].state && answers[server].state->writable;
  }
  bool all_answered() const {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answered(i)) return false;
    }
    return true;
  }

  Runtime& runtime;
  const Ask& ask;
  std::vector<ServerAnswer> answers;
  std::vector<std::unique_ptr<SqlConnection>> connections;
  std::vector<bool> asked;
  std::optional<BootTime> first_writable;
  Event changed;
  TaskGroup tasks;  // Last: its tasks end before what they use.
};

Task<void> ServerGroup::ask_one(Survey& survey, std::size_t server, Deadline deadline) {
  survey.asked[server] = true;
  Result<Candidate> candidate = co_await contained(survey.ask(endpoints_[server], deadline));
  ServerAnswer& answer = survey.answers[server];
  if (candidate) {
    answer.state = std::move(candidate->state);
    survey.connections[server] = std::move(candidate->connection);
    if (answer.state->writable && !survey.first_writable) {
      survey.first_writable = survey.runtime.now();
    }
  } else {
    answer.failure = candidate.failure();
  }
  survey.changed.set();
}

Task<Result<std::size_t>> ServerGroup::choose(Survey& survey, bool hurry, Deadline deadline) {
  const std::optional<std::size_t> first = hurry ? in_use_ : std::nullopt;
  if (first) survey.tasks.spawn(ask_one(survey, *first, deadline));
  const BootTime head_start = survey.runtime.now() + kHeadStart;
  for (;;) {
    const BootTime now = survey.runtime.now();
    if (first && survey.writable(*first) && in_use_ == first) co_return *first;
    const bool alone = first && !survey.answered(*first) && now < head_start;
    for (std::size_t i = 0; i < endpoints_.size() && !alone; ++i) {
      if (!survey.asked[i]) survey.tasks.spawn(ask_one(survey, i, deadline));
    }
    const Deadline grace = hurry && survey.first_writable
                               ? Deadline::at(*survey.first_writable + kGrace)
                               : Deadline::never();
    if (survey.all_answered() || grace.passed(now) || deadline.passed(now)) break;
    Deadline limit = alone ? deadline.sooner(head_start) : deadline;
    if (!grace.is_never()) limit = limit.sooner(grace.moment());
    static_cast<void>(co_await survey.changed.wait(limit));
    survey.changed.reset();
  }
  const Result<std::size_t> chosen = choose_server(survey.answers, in_use_, timeline_);
  // Not of servers that were refused: they may be of another cluster.
  if (chosen) timeline_ = std::max(timeline_, latest_timeline(survey.answers));
  co_return chosen;
}

Task<Result<std::unique_ptr<SqlConnection>>> ServerGroup::connect(Runtime& runtime, Ask ask,
                                                                  Deadline deadline) {
  const std::shared_ptr<ServerGroup> self = shared_from_this();
  if (!background_) background_.emplace(runtime);
  for (;;) {
    const std::uint64_t changes = changes_;
    Survey survey(runtime, ask, endpoints_);
    const Result<std::size_t> chosen = co_await choose(survey, true, deadline);
    if (!chosen) co_return chosen.failure();
    // Another call has found out more meanwhile.
    if (changes != changes_ && in_use_ != *chosen) continue;
    use(*chosen);
    std::unique_ptr<SqlConnection> connection = std::move(survey.connections[*chosen]);
    connection->join(self);
    members_.push_back({connection.get(), *chosen});
    if (!std::exchange(watching_, true)) background_->spawn(watch(runtime, ask));
    co_return connection;
  }
}

Task<void> ServerGroup::watch(Runtime& runtime, Ask ask) {
  while (!members_.empty()) {
    static_cast<void>(co_await sleep_until(runtime, runtime.now() + runtime.jitter(kPace)));
    if (members_.empty()) break;
    const std::uint64_t changes = changes_;
    Survey survey(runtime, ask, endpoints_);
    const Deadline limit = Deadline::at(runtime.now() + kPace);
    const Result<std::size_t> chosen = co_await choose(survey, false, limit);
    if (changes != changes_) continue;
    if (chosen) {
      use(*chosen);
    } else if (in_use_ && survey.answers[*in_use_].state && !survey.writable(*in_use_)) {
      in_use_.reset();
      ++changes_;
      close_all_but(std::nullopt);
    }
  }
  watching_ = false;
}

Guarantees across_servers(Guarantees guarantees) {
  guarantees.exclusion = Exclusion::best_effort;
  guarantees.notes +=
      " Of several servers the one that can be written is used. Unless replication is synchronous, "
      "a failover can "
      "forget the newest locks, and an old primary that nobody has fenced can go on granting.";
  return guarantees;
}

}  // namespace holdfast::internal
