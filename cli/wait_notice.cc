#include "wait_notice.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "duration.h"
#include "lock_info.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLogEvery = 1min;

// A terminal on which a line can be erased.
bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

// Cut in front of a character, not inside one.
std::string cut(std::string text, std::size_t max) {
  if (text.size() <= max) return text;
  std::size_t end = max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

// A session with the same URL, which reads no file and remembers no secret anew: it is used on another thread.
Session resolved(Session session) {
  if (const Result<std::string> url = session.url(); url && !url->empty()) session.on = *url;
  return session;
}

}  // namespace

struct WaitNotice::State {
  const Session session;
  const std::vector<Name> names;
  const std::string label;
  const Audience audience;
  const BootTime began = BootClock::now();
  const bool terminal = !audience.quiet && is_terminal();

  std::mutex mutex;
  std::condition_variable ended_changed;
  bool ended = false;
  bool shown = false;  // a line that has to be erased
  BootTime logged = began;

  // False when the wait is over.
  bool pause(Duration span) {
    std::unique_lock guard(mutex);
    return !ended_changed.wait_for(guard, span, [&] { return ended; });
  }

  Duration first_pause() const { return terminal || audience.manager ? Duration(1s) : kLogEvery; }
  Duration next_pause() const {
    return terminal ? Duration(2s) : audience.manager ? Duration(10s) : kLogEvery;
  }

  void show(AwaitedLock awaited) {
    const std::scoped_lock guard(mutex);
    if (ended) return;
    const BootTime now = BootClock::now();
    awaited.rest += " (" + format_duration(now - began) + ")";
    const std::string line = for_terminal("waiting for " + awaited.text());
    if (audience.manager) audience.manager.try_tell("STATUS=" + line);
    if (terminal) {
      constexpr std::string_view kBegin = "holdfast: waiting for ";
      const std::size_t width = columns() - 1;
      const std::string text = std::string(kBegin) + awaited.text(width - kBegin.size());
      std::fprintf(stderr, "\r%s\033[K", cut(for_terminal(text), width).c_str());
      shown = true;
    } else if (!audience.quiet && now - logged >= kLogEvery) {
      std::fprintf(stderr, "holdfast: %s\n", line.c_str());
      logged = now;
    }
  }

  static AwaitedLock silent(const Name& name) {
    return {
        .name = "'" + name.display() + "'", .holder = {}, .rest = "; the engine does not answer"};
  }

  // Of several names the one in whose queue we are; else the first that somebody else holds.
  AwaitedLock what_is_awaited(Client& client) const {
    std::optional<AwaitedLock> held;
    for (const Name& name : names) {
      const Result<LockInfo> lock = client.inspect(name);
      if (!lock) return silent(name);
      const bool queued =
          std::ranges::find(lock->waiters, label, &WaiterInfo::label) != lock->waiters.end();
      if (queued || names.size() == 1) return awaited_lock(*lock, label);
      const auto is_other = [&](const HolderInfo& holder) { return holder.label != label; };
      if (!held && std::ranges::any_of(lock->holders, is_other)) held = awaited_lock(*lock, label);
    }
    return held.value_or(AwaitedLock{.name = "one of " + std::to_string(names.size()) + " locks",
                                     .holder = {},
                                     .rest = ", which is just being handed over"});
  }

  void tell() {
    if (!pause(first_pause())) return;
    std::optional<Client> client;
    do {
      if (!client) {
        // Warnings are told by the client that waits.
        Result<Client> opened = session.open({.observer = std::make_shared<Observer>()});
        if (opened) client.emplace(std::move(*opened));
      }
      show(client ? what_is_awaited(*client) : silent(names.front()));
    } while (pause(next_pause()));
  }
};

WaitNotice::WaitNotice(const Session& session, std::vector<Name> names, std::string label,
                       Audience audience)
    : state_(new State{.session = resolved(session),
                       .names = std::move(names),
                       .label = std::move(label),
                       .audience = std::move(audience)}) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    std::thread([state = state_] { state->tell(); }).detach();
  } catch (const std::system_error&) {
    // No thread is to be had: then nothing is told.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WaitNotice::~WaitNotice() {
  const std::scoped_lock guard(state_->mutex);
  state_->ended = true;
  state_->ended_changed.notify_all();
  if (state_->shown) std::fputs("\r\033[K", stderr);
}

std::string AwaitedLock::text(std::size_t max) const {
  if (holder.empty()) return name + rest;
  constexpr std::string_view kHeldBy = ", held by ";
  constexpr std::size_t kLeast = 12;
  const std::size_t others = name.size() + kHeldBy.size() + rest.size();
  const std::size_t room = std::max(max > others ? max - others : 0, kLeast);
  const std::string shown = holder.size() <= room ? holder : cut(holder, room - 3) + "...";
  return name + std::string(kHeldBy) + shown + rest;
}

AwaitedLock awaited_lock(const LockInfo& lock, const std::string& label) {
  AwaitedLock awaited{.name = "'" + lock.name.display() + "'", .holder = {}, .rest = {}};
  if (lock.holders.empty()) {
    awaited.rest = ", which is just being handed over";
  } else {
    const HolderInfo& holder = lock.holders.front();
    awaited.holder = for_terminal(shown_label(holder.label));
    if (holder.held_for) awaited.rest += " since " + format_duration(*holder.held_for);
    if (lock.holders.size() > 1) {
      awaited.rest += " and " + std::to_string(lock.holders.size() - 1) + " more";
    }
  }
  const auto self = std::ranges::find(lock.waiters, label, &WaiterInfo::label);
  const auto before = self - lock.waiters.begin();
  if (self != lock.waiters.end() && before > 0) {
    awaited.rest += ", " + std::to_string(before) + " before us";
  }
  return awaited;
}

}  // namespace holdfast::cli
