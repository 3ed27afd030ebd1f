// Watcher: one stream of watches for all the waits of a client. WatchSet: the watches of one wait, and their events.
// Inside the loop only.
//
// A watch begins with the next revision, not with a past one: etcd brings watches that begin in the past up to date
// only every 100 ms. It says from which revision on it watches, so that a reader of an older one can read again.
//
// Even so a watch is late if something is written as it begins: etcd reads its revision and then waits until a write
// that ends just then is over. On a contended lock that happens all the time. So a watch outlives its wait: the next
// wait for the same key (the rule where the same clients take turns) has it from the start. That buys five times as
// many hand-overs of a hot lock (bench/README.md, "Late watches").
//
//   add() ──► asked ──created──► live ──clear() of the last set that needs it──► idle
//                                 ▲                                              │ │
//                                 └─────────────────────add()────────────────────┘ └─► cancelled:
//                                     after a few events while idle, or when there are too many idle ones
#pragma once

#include <compare>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engines/etcd/cluster.h"

namespace holdfast::internal::etcd {

// A watch as the server is asked for it.
struct WatchScope {
  std::string key;
  std::string end;  // empty: this key alone
  Tell tell = Tell::ends_and_before;

  friend auto operator<=>(const WatchScope&, const WatchScope&) = default;
};

class WatchSet;

class Watcher final : private GrpcStreamListener {
 public:
  Watcher(Runtime& runtime, Cluster& cluster)
      : runtime_(runtime), cluster_(cluster), background_(runtime) {}
  ~Watcher();

  void stop() { background_.stop(); }

 private:
  friend class WatchSet;
  using Id = std::int64_t;
  struct Start {
    Revision revision = 0;  // everything after it is told
    BootTime begun{};
  };
  struct Subscriber {
    WatchSet* set;
    std::size_t which;

    friend bool operator==(const Subscriber&, const Subscriber&) = default;
  };
  // As the server knows it.
  struct Watch {
    WatchScope scope;
    bool kept = false;
    bool asked = false;                                            // the server knows of it
    std::optional<Start> start;                                    // the server has answered
    Revision last_told = 0;                                        // the newest event
    std::unordered_multimap<std::string, Subscriber> subscribers;  // by key; empty: any key
    int idle_events = 0;                                           // since the last subscriber left
  };

  // Events of `key` (empty: of any key in the scope) go to the subscriber.
  Id subscribe(const std::string& key, const WatchScope& scope, bool keep, Subscriber subscriber);
  void unsubscribe(Id id, const std::string& key, Subscriber subscriber);
  // Nothing if it is not known yet. What was told before somebody subscribed is not told again.
  std::optional<Start> start_of(Id id) const;

  Id watch_for(const WatchScope& scope, bool keep);
  void ask(Id id, Watch& watch);
  void cancel(Id id);
  Task<void> open();
  void go_blind();
  void on_stream_message(std::string_view message) override;
  void on_stream_end(int status, const std::string& why) override;
  void take(const WatchAnswer& answer);
  void tell(Watch& watch, const WatchEvent& event);

  static constexpr std::size_t kMaxIdle = 64;
  static constexpr int kMaxIdleEvents = 2;
  Runtime& runtime_;
  Cluster& cluster_;
  std::map<Id, Watch> watches_;
  std::map<WatchScope, Id> kept_;  // those that may be shared and used again
  std::list<Id> idle_;             // of these, the ones without subscribers, the longest idle first
  Id last_id_ = 0;
  GrpcCallId stream_ = 0;  // 0: there is none
  bool opening_ = false;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

class WatchSet {
 public:
  WatchSet(Runtime& runtime, Watcher& watcher) : changed(runtime), watcher_(watcher) {}
  ~WatchSet() { clear(); }
  WatchSet(const WatchSet&) = delete;
  WatchSet& operator=(const WatchSet&) = delete;

  // `key` empty: any key in the scope. With `keep`, the watch may outlive the set.
  void add(const std::string& key, const WatchScope& scope, bool keep);
  // Ends all watches, and forgets their events.
  void clear();

  Event changed;       // something below is new
  bool blind = false;  // nothing more will be told
  // For the caller to take. A late watch may also tell of revisions before it began.
  struct Told {
    std::size_t which = 0;  // counted as they were added
    WatchEvent event;
  };
  std::vector<Told> events;

  bool live() const { return live_ == members_.size(); }
  // Whether everything after `revision` is told.
  bool covers(Revision revision) const { return live() && latest_start_ <= revision; }
  // Whether events may be late: something was written when a watch began, and etcd's next round of catching up is
  // not over.
  bool may_be_late(BootTime now) const;
  // Nothing had happened up to `seen_at`, read after the watches began; so if that is when they began, nothing was
  // written then.
  void nothing_happened(Revision seen_at) { on_time_ = on_time_ || seen_at == latest_start_; }

 private:
  friend class Watcher;
  void on_live(Watcher::Start start);
  void on_event(std::size_t which, const WatchEvent& event);
  void on_blind();

  struct Member {
    Watcher::Id watch;
    std::string key;
  };
  Watcher& watcher_;
  std::vector<Member> members_;
  std::size_t live_ = 0;
  Revision latest_start_ = 0;
  BootTime begun_{};  // the youngest of them
  bool on_time_ = false;
};

}  // namespace holdfast::internal::etcd
