// Watcher: one stream of watches for all the waits of a client. Inside the loop only.
//
// A watch begins with the next revision, not with one that is past: etcd brings watches that begin
// in the past up to date only every 100 ms. It says from which revision on it watches, so that
// whoever has seen an older one can look again.
//
// Even so a watch is late if something is written in the moment in which it begins: etcd reads its
// revision and then waits until a write that ends just then is over. On a lock that many want that
// happens all the time. So a watch that nobody needs any more is kept for a while: who waits for the
// same key again (which is the rule where the same clients take turns) has it from the start.
//
//   watch() ──► asked ──created──► watching ──end() of the last who needs it──► idle
//                                      ▲                                         │ │
//                                      └────────────────watch()──────────────────┘ └─► cancelled:
//   told too often while idle, another key of the same lock to be watched, or too many of them
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

// Who is told. It must not watch, nor end a watch, while it is being told.
class WatchListener {
 public:
  // From here on everything after `revision` is told.
  // It may be late until etcd has caught up with it, some time after `begun`.
  virtual void on_watching(std::size_t which, Revision revision, BootTime begun) = 0;
  virtual void on_event(std::size_t which, const WatchEvent& event) = 0;
  // Nothing more will be told of any watch of this listener's.
  virtual void on_blind() = 0;

 protected:
  ~WatchListener() = default;
};

// What a server is asked to watch.
struct Scope {
  std::string key;
  std::string end;  // empty: this key alone
  Tell tell = Tell::ends_and_before;

  friend auto operator<=>(const Scope&, const Scope&) = default;
};

// Whether a watch that is not needed any more may be needed again.
struct Keep {
  // Keys that are waited for one after the other; empty: it is not kept.
  std::string lock = {};
  // So many events that nobody needs it outlives, and it does not make room for others.
  int patience = 0;
};

class Watcher final : private GrpcStreamListener {
 public:
  Watcher(Runtime& runtime, Cluster& cluster, Duration request_timeout);
  ~Watcher();

  using Id = std::int64_t;
  // Tells of what happens to `key` (empty: to any key of the scope), and perhaps of what happened to
  // it before. `which` is what the listener knows it by. If it is being watched already, the listener
  // is not called for that: see since().
  Id watch(const std::string& key, const Scope& scope, const Keep& keep, WatchListener& listener,
           std::size_t which);
  struct Since {
    Revision revision;  // everything after it is told
    BootTime begun;
  };
  // Nothing if that is not known yet.
  std::optional<Since> since(Id id) const;
  void end(Id id);
  void stop() { background_.stop(); }

 private:
  // A watch as the server knows it.
  struct Post {
    Scope scope;
    Keep keep;
    bool asked = false;                                // the server knows of it
    std::optional<Since> since;                        // it has answered
    std::unordered_map<std::string, Revision> latest;  // of what was told, by key
    std::unordered_multimap<std::string, Id> wanted;   // which watches need it, by their keys
    int useless = 0;                                   // events since anybody has needed it
  };
  struct Watch {
    Id post;
    std::string key;
    WatchListener* listener;
    std::size_t which;
  };

  Id post_for(const Scope& scope, const Keep& keep);
  void make_room(const Keep& keep);
  void ask(Id id, Post& post);
  void cancel(Id post);
  Task<void> open();
  void go_blind();
  void on_stream_message(std::string_view message) override;
  void on_stream_end(int status, const std::string& why) override;
  void take(const WatchAnswer& answer);
  void tell(Post& post, const WatchEvent& event);

  static constexpr std::size_t kMostIdle = 64;
  Runtime& runtime_;
  Cluster& cluster_;
  const Duration request_timeout_;
  std::map<Id, Post> posts_;
  std::map<Scope, Id> kept_;  // those that may be shared and used again
  std::list<Id> idle_;        // of these, which nobody needs now, the longest first
  std::unordered_map<Id, Watch> watches_;
  Id last_id_ = 0;
  GrpcCallId stream_ = 0;  // 0: there is none
  bool opening_ = false;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

// Vigil: some watches, and what they have told. Ends them when it is destroyed.
class Vigil final : private WatchListener {
 public:
  Vigil(Runtime& runtime, Watcher& watcher) : told(runtime), watcher_(watcher) {}
  ~Vigil() { clear(); }
  Vigil(const Vigil&) = delete;
  Vigil& operator=(const Vigil&) = delete;

  void watch(const std::string& key, const Scope& scope, const Keep& keep = {});
  // Ends all watches, and forgets what they told.
  void clear();

  Event told;
  bool blind = false;
  struct Told {
    std::size_t which = 0;
    WatchEvent event;
  };
  // For whoever is told to take. What a watch was kept from may come late: there may be events of an
  // earlier time than was asked for.
  std::vector<Told> events;
  // True if all are being watched, each from the revision after this one or before.
  bool watching_since(Revision revision) const;
  bool all_watching() const { return watching_ == ids_.size(); }
  // Whether events may be late: something was written when a watch began, and etcd's next round of
  // catching up is not over. `seen_at`: nothing had happened up to this revision, of which we know
  // since after the watches began; so if that is when they began, nothing was written then.
  bool may_be_late(BootTime now) const;
  void nothing_happened(Revision seen_at) { proven_ = proven_ || seen_at == latest_start_; }

 private:
  void on_watching(std::size_t which, Revision revision, BootTime begun) override;
  void on_event(std::size_t which, const WatchEvent& event) override;
  void on_blind() override;

  Watcher& watcher_;
  std::vector<Watcher::Id> ids_;
  std::size_t watching_ = 0;
  Revision latest_start_ = 0;
  BootTime begun_{};  // the youngest of them
  bool proven_ = false;
};

}  // namespace holdfast::internal::etcd
