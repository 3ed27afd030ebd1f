#include "serve/monitor.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "duration.h"
#include "guarantees_json.h"
#include "holdfast/boost_asio.h"
#include "holdfast/text.h"
#include "holdfast/version.h"
#include "serve/lock_json.h"

namespace holdfast::cli::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWatchedPause{1000};
constexpr std::chrono::milliseconds kIdlePause{5000};
constexpr std::chrono::seconds kLongestPause{60};
constexpr long long kStepMs = 5000;
constexpr std::size_t kPoints = 360;         // half an hour
constexpr std::size_t kLocksPerEvent = 500;  // a picture of many locks comes in pieces
constexpr std::size_t kMostEvents = 1000;

long long waiting_ms(const SeenLock& lock, long long now_ms) {
  long long longest = 0;
  for (const SeenWaiter& each : lock.waiters) {
    if (each.since_ms) longest = std::max(longest, now_ms - *each.since_ms);
  }
  return longest;
}

Json point_json(const ContentionPoint& point) {
  return {{"at_ms", point.at_ms},
          {"locks", point.locks},
          {"waiters", point.waiters},
          {"longest_wait_ms", point.longest_wait_ms}};
}

Json locks_event(const std::string& engine, long long now_ms, bool full) {
  return {{"now_ms", now_ms},
          {"engine", engine},
          {"full", full},
          {"upsert", Json::array()},
          {"remove", Json::array()}};
}

Response event_stream(std::function<Awaitable<void>(EventSink&)> stream) {
  Response response{.content_type = "text/event-stream"};
  response.stream = std::move(stream);
  return response;
}

}  // namespace

Monitor::Monitor(net::io_context& context, const Engines& engines, History& history, bool read_only)
    : context_(context),
      engines_(engines),
      history_(history),
      read_only_(read_only),
      feed_(context),
      events_(context) {
  for (const auto& engine : engines.all()) {
    auto watched = std::make_unique<Watched>();
    watched->engine = engine.get();
    watched->timer = std::make_unique<net::steady_timer>(context);
    watched_.push_back(std::move(watched));
  }
  history_.set_listener([this](const HistoryEvent& event) {
    if (feed_.size() + events_.size() == 0) return;
    const Json json = to_json(event);
    feed_.publish(event_text("history", json));
    events_.publish(event_text(event.kind, json));
  });
}

void Monitor::start() {
  for (const auto& watched : watched_) net::co_spawn(context_, watch(*watched), net::detached);
}

void Monitor::stop() {
  stopping_ = true;
  for (const auto& watched : watched_) watched->timer->cancel();
}

// ---- Looking ------------------------------------------------------------------------------------

Awaitable<void> Monitor::watch(Watched& watched) {
  while (!stopping_) {
    const Clock::time_point begun = Clock::now();
    Async<Result<std::vector<LockInfo>>> call = watched.engine->client.async_list();
    const Result<std::vector<LockInfo>> locks =
        co_await initiate(std::move(call), net::use_awaitable);
    if (stopping_) co_return;
    watched.looked = true;
    watched.took = Clock::now() - begun;
    if (locks) {
      watched.failure.reset();
      update(watched, *locks);
      watched.at = begun;
      deadlocks_.saw(watched.engine->name, *locks, watched.engine->client.guarantees().fairness,
                     begun);
    } else {
      watched.failure = locks.failure();
      deadlocks_.lost_sight(watched.engine->name);
    }
    if (deadlocks_.update()) feed_.publish(event_text("deadlocks", deadlocks_.json()));
    if (locks) measure(watched, wall_ms());  // what it was before says nothing of now
    tell_engines();
    const bool somebody = feed_.size() + events_.size() > 0;
    const Clock::duration pause = somebody ? kWatchedPause : kIdlePause;
    // A look at many locks is work; one that found nobody was waiting.
    const Clock::duration rest = watched.failure ? pause : 10 * (Clock::now() - begun);
    watched.timer->expires_after(std::clamp<Clock::duration>(rest, pause, kLongestPause));
    boost::system::error_code ignored;
    co_await watched.timer->async_wait(net::redirect_error(net::use_awaitable, ignored));
  }
}

void Monitor::update(Watched& watched, const std::vector<LockInfo>& locks) {
  const long long now_ms = wall_ms();
  const std::string& engine = watched.engine->name;
  // Before the first look nothing was known, so nothing has happened; and pages may know what an earlier daemon saw.
  const bool first = watched.at == Clock::time_point();
  Json change = locks_event(engine, now_ms, first);
  std::unordered_map<std::string, SeenLock> present;
  present.reserve(locks.size());
  std::vector<HistoryEvent> events;
  const auto add = [&](const SeenLock* before, const SeenLock* after) {
    if (!first)
      std::ranges::move(happened(engine, before, after, now_ms), std::back_inserter(events));
  };
  watched.waiters = 0;
  for (const LockInfo& info : locks) {
    const auto known = watched.locks.find(info.name.bytes());
    const SeenLock* before = known == watched.locks.end() ? nullptr : &known->second;
    SeenLock lock = seen(info, now_ms, before);
    watched.waiters += lock.waiters.size();
    if (!before || lock != *before) {
      add(before, &lock);
      if (feed_.size() > 0) change["upsert"].push_back(to_json(engine, lock));
    }
    present.insert_or_assign(info.name.bytes(), std::move(lock));
  }
  for (const auto& [name, lock] : watched.locks) {
    if (present.contains(name)) continue;
    add(&lock, nullptr);
    change["remove"].push_back(percent_encoded(name));
  }
  watched.locks = std::move(present);
  if (first || !change["upsert"].empty() || !change["remove"].empty())
    feed_.publish(event_text("locks", change));
  for (HistoryEvent& event : events) history_.add(std::move(event));
}

void Monitor::measure(Watched& watched, long long now_ms) {
  if (!watched.points.empty() && now_ms - watched.points.back().at_ms < kStepMs - kStepMs / 10)
    return;
  ContentionPoint point{now_ms, watched.locks.size(), watched.waiters, 0};
  for (const auto& [name, lock] : watched.locks) {
    point.longest_wait_ms = std::max(point.longest_wait_ms, waiting_ms(lock, now_ms));
  }
  watched.points.push_back(point);
  if (watched.points.size() > kPoints) watched.points.pop_front();
  feed_.publish(
      event_text("contention", {{"engine", watched.engine->name}, {"point", point_json(point)}}));
}

void Monitor::tell_engines() {
  bool news = false;
  for (const auto& watched : watched_) {
    Json known = engine_json(*watched);
    known.erase("sampled_ago_ms");
    std::string text = json_text(known);
    if (text == watched->told || !watched->looked) continue;
    watched->told = std::move(text);
    news = true;
  }
  if (news)
    feed_.publish(event_text("engines", {{"now_ms", wall_ms()}, {"engines", engines_json()}}));
}

// ---- Telling ------------------------------------------------------------------------------------

Json Monitor::engine_json(const Watched& watched) const {
  Json object = {{"name", watched.engine->name},
                 {"url", watched.engine->shown_url},
                 {"reachable", watched.looked && !watched.failure}};
  if (watched.failure) {
    object["error"] = {{"code", code_name(watched.failure->code())},
                       {"detail", for_terminal(watched.failure->message())}};
  }
  if (watched.at != Clock::time_point())
    object["sampled_ago_ms"] = to_ms(Clock::now() - watched.at);
  object["locks"] = watched.locks.size();
  object["waiters"] = watched.waiters;
  object["guarantees"] = cli::to_json(watched.engine->client.guarantees());
  return object;
}

Json Monitor::engines_json() const {
  Json all = Json::array();
  for (const auto& watched : watched_) all.push_back(engine_json(*watched));
  return all;
}

Awaitable<bool> Monitor::tell_all(EventSink& sink) {
  Json hello = {{"version", HOLDFAST_VERSION},
                {"now_ms", wall_ms()},
                {"read_only", read_only_},
                {"engines", engines_json()}};
  if (!co_await sink.send(event_text("hello", hello))) co_return false;
  for (const auto& watched : watched_) {
    if (watched->at == Clock::time_point()) continue;
    // A copy: looks go on while a slow reader takes it.
    std::vector<SeenLock> locks;
    for (const auto& [name, lock] : watched->locks) locks.push_back(lock);
    bool full = true;
    std::size_t at = 0;
    do {
      Json piece = locks_event(watched->engine->name, wall_ms(), full);
      const std::size_t end = std::min(locks.size(), at + kLocksPerEvent);
      for (; at < end; ++at) piece["upsert"].push_back(to_json(watched->engine->name, locks[at]));
      full = false;
      if (at < locks.size()) piece["more"] = true;
      if (!co_await sink.send(event_text("locks", piece))) co_return false;
    } while (at < locks.size());
    std::string points;
    for (const ContentionPoint& point : watched->points) {
      points += event_text("contention",
                           {{"engine", watched->engine->name}, {"point", point_json(point)}});
    }
    if (!points.empty() && !co_await sink.send(std::move(points))) co_return false;
  }
  std::string deadlocks = event_text("deadlocks", deadlocks_.json());
  co_return co_await sink.send(std::move(deadlocks));
}

Awaitable<Response> Monitor::feed(Request request) {
  const auto look_now = [this] {
    for (const auto& watched : watched_) watched->timer->cancel();
  };
  co_return event_stream([this, look_now, gone = request.gone](EventSink& sink) -> Awaitable<void> {
    if (feed_.size() + events_.size() == 0) look_now();
    co_await feed_.serve(sink, gone, [this](EventSink& to) { return tell_all(to); });
  });
}

namespace {

// Whether the JSON in the text of an event has this member. What is in quotes is escaped there, too.
bool mentions(const std::string& text, const char* member,
              const std::optional<std::string>& value) {
  return !value ||
         text.find("\"" + std::string(member) + "\":" + json_text(*value)) != std::string::npos;
}

std::optional<std::string> given(const Request& request, const char* name) {
  const std::string* value = request.parameter(name);
  return value ? std::optional(*value) : std::nullopt;
}

// ?name= for people; ?path= for whoever adds the "path" of a lock as it is. Both are decoded once, and so are the name.
std::optional<std::string> lock_in(const Request& request) {
  auto name = given(request, "name");
  return name ? name : given(request, "path");
}

}  // namespace

Awaitable<Response> Monitor::events(Request request) {
  if (request.parameter("engine")) engines_.of(request);
  const auto engine = given(request, "engine");
  auto path = lock_in(request);
  if (path) path = percent_encoded(*path);
  const auto wanted = [engine, path](const std::string& text) {
    return mentions(text, "engine", engine) && mentions(text, "path", path);
  };
  co_return event_stream([this, wanted, gone = request.gone](EventSink& sink) -> Awaitable<void> {
    const auto begin = [](EventSink& to) { return to.send(": events from now on\n\n"); };
    co_await events_.serve(sink, gone, begin, wanted);
  });
}

Awaitable<Response> Monitor::history_of(Request request) {
  if (request.parameter("engine")) engines_.of(request);
  Json object = {{"events", Json::array()}};
  const auto name = lock_in(request);
  for (Json& event :
       history_.events(request.parameter("engine"), name ? &*name : nullptr, kMostEvents)) {
    object["events"].push_back(std::move(event));
  }
  co_return json_response(object);
}

Awaitable<Response> Monitor::deadlocks(Request) { co_return json_response(deadlocks_.json()); }

Awaitable<Response> Monitor::contention(Request) {
  Json object = {{"step_ms", kStepMs}, {"engines", Json::array()}};
  for (const auto& watched : watched_) {
    Json one = {{"name", watched->engine->name}, {"points", Json::array()}};
    for (const ContentionPoint& point : watched->points) one["points"].push_back(point_json(point));
    object["engines"].push_back(std::move(one));
  }
  co_return json_response(object);
}

Awaitable<Response> Monitor::engines_of(Request) {
  co_return json_response({{"engines", engines_json()}});
}

}  // namespace holdfast::cli::serve
