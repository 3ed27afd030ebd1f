#include "top/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "deadlock_info.h"
#include "lock_info.h"
#include "table.h"
#include "top/lock_texts.h"
#include "top/lookout.h"
#include "top/span_text.h"

namespace holdfast::cli::top {
namespace {

using Clock = std::chrono::steady_clock;

std::optional<Duration> span(const std::optional<long long>& from_ms,
                             const std::optional<long long>& to_ms) {
  if (!from_ms || !to_ms) return std::nullopt;
  return std::chrono::milliseconds(std::max(0LL, *to_ms - *from_ms));
}

// As an engine would tell it now.
LockInfo info_of(const SeenLock& lock, long long now_ms) {
  LockInfo info{lock.name, lock.last_token, lock.permits, {}, {}};
  for (const SeenHolder& each : lock.holders) {
    HolderInfo& holder = info.holders.emplace_back();
    holder = {.id = each.id,
              .mode = each.mode,
              .token = each.token,
              .label = each.label,
              .owner = each.owner,
              .held_for = span(each.since_ms, now_ms),
              .expires_in = span(now_ms, each.expires_ms),
              .details = {}};
    for (const auto& [name, value] : each.details) holder.details.push_back({name, value});
  }
  for (const SeenWaiter& each : lock.waiters) {
    info.waiters.push_back(
        {each.id, each.mode, each.label, each.owner, span(each.since_ms, now_ms)});
  }
  return info;
}

Json engine_json(const TopEngine& engine) {
  Json object = {{"engine", engine.name}, {"reachable", !engine.failure}};
  if (engine.failure) {
    object["error"] = describe_failure(*engine.failure);
    return object;
  }
  object["locks"] = engine.locks.size();
  object["waiters"] = engine.waiters;
  return object;
}

class Reporter {
 public:
  Reporter(const Session& session, std::vector<OpenPlace>& places, const Settings& settings)
      : session_(session), settings_(settings), sight_(names_of(places)) {
    for (OpenPlace& each : places) places_.push_back(&each);
  }

  int run();

 private:
  std::size_t index_of(const std::string& engine) const;
  // True if there may be a deadlock.
  bool look();
  std::vector<Row> rows() const;
  void print_json() const;
  void print_table() const;

  const Session& session_;
  const Settings& settings_;
  std::vector<OpenPlace*> places_;
  Sight sight_;
  std::vector<HistoryEvent> events_;
};

std::size_t Reporter::index_of(const std::string& engine) const {
  const auto at = std::ranges::find(sight_.engines(), engine, &TopEngine::name);
  return static_cast<std::size_t>(at - sight_.engines().begin());
}

bool Reporter::look() {
  const Clock::time_point begun = Clock::now();
  const Look look = look_at(places_);
  for (const EngineLocks& each : look.seen) {
    std::ranges::move(
        sight_.saw(index_of(each.engine), each.locks, each.fairness, begun, wall_ms()),
        std::back_inserter(events_));
  }
  for (const Look::Unseen& each : look.unseen) sight_.failed(index_of(each.engine), each.why);
  sight_.look_for_deadlocks();
  return !find_deadlocks(look.seen).empty();
}

// Of an engine that does not answer now, nothing is printed.
std::vector<Row> Reporter::rows() const {
  std::vector<Row> rows = rows_of(sight_, settings_.choice);
  std::erase_if(rows, [&](const Row& row) { return sight_.engines()[row.engine].failure; });
  return rows;
}

void Reporter::print_json() const {
  const long long now_ms = wall_ms();
  Json object = {{"at_ms", now_ms}, {"engines", Json::array()}, {"locks", Json::array()}};
  for (const TopEngine& each : sight_.engines()) object["engines"].push_back(engine_json(each));
  for (const Row& row : rows()) {
    Json& lock = object["locks"].emplace_back(Json{{"engine", sight_.engines()[row.engine].name}});
    lock.update(cli::to_json(info_of(row.lock->lock, now_ms)));
  }
  object["deadlocks"] = Json::array();
  for (const Deadlock& each : sight_.deadlocks()) object["deadlocks"].push_back(to_json(each));
  object["events"] = Json::array();
  for (const HistoryEvent& each : events_) object["events"].push_back(event_json(each));
  const std::string text = object.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

void Reporter::print_table() const {
  for (const TopEngine& each : sight_.engines()) {
    if (each.failure) session_.warn(each.name + ": " + each.failure->message());
  }
  for (const Deadlock& each : sight_.deadlocks()) {
    std::printf("%s: %s\n", each.only_possible ? "possible deadlock" : "DEADLOCK",
                deadlock_line(each).c_str());
  }
  const std::vector<Row> rows = this->rows();
  Table table({"ENGINE", "LOCK", "WAIT", "OLDEST", "HELD", "LEFT", "TOKEN", "HOLDER"});
  const long long now_ms = wall_ms();
  for (const Row& row : rows) {
    const SeenLock& lock = row.lock->lock;
    const bool held = !lock.holders.empty();
    const std::string more =
        lock.holders.size() > 1 ? " +" + std::to_string(lock.holders.size() - 1) : "";
    table.add({sight_.engines()[row.engine].name, lock.name.display(),
               std::to_string(lock.waiters.size()),
               since_text(row.lock->waiting_since_ms(), now_ms),
               since_text(row.lock->held_since_ms(), now_ms),
               left_text(least_left(*row.lock, now_ms)), held ? lock.holders[0].token.str() : "-",
               held ? holder_name(lock.holders[0]) + more : "-"});
  }
  std::fputs(table.text().c_str(), stdout);
}

int Reporter::run() {
  // Long enough that what changes hands all the time is seen to, short enough to wait for.
  constexpr std::chrono::milliseconds kBetweenLooks{200};
  for (unsigned long looks = 1;; ++looks) {
    const Clock::time_point begun = Clock::now();
    // The first look cannot know a deadlock from hands that change: see deadlock_watch.h.
    if (look() && looks == 1) {
      std::this_thread::sleep_for(kBetweenLooks);
      look();
    }
    session_.json ? print_json() : print_table();
    if (std::fflush(stdout) != 0) return kOutput;
    events_.clear();
    if (looks == settings_.count) break;
    if (!session_.json) std::printf("\n");
    const auto pause = std::max<Clock::duration>(settings_.interval, 10 * (Clock::now() - begun));
    std::this_thread::sleep_for(pause);
  }
  for (const TopEngine& each : sight_.engines()) {
    if (each.failure) return exit_status_of(each.failure->code());
  }
  return kOk;
}

}  // namespace

int print_looks(const Session& session, std::vector<OpenPlace>& places, const Settings& settings) {
  return Reporter(session, places, settings).run();
}

}  // namespace holdfast::cli::top
