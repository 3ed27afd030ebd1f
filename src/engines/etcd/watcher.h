// Watcher: one stream of watches for all the waits of a client. Inside the loop only.
//
// A watch begins with the next revision, not with one that is past: etcd brings watches that begin
// in the past up to date only every 100 ms. It says from which revision on it watches, so that
// whoever has seen an older one can look again.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engines/etcd/cluster.h"

namespace holdfast::internal::etcd {

// Who is told. It must not watch, nor end a watch, while it is being told.
class WatchListener {
 public:
  // From here on everything after `revision` is told.
  virtual void on_watching(std::size_t which, Revision revision) = 0;
  virtual void on_event(std::size_t which, const WatchEvent& event) = 0;
  // Nothing more will be told of any watch of this listener's.
  virtual void on_blind() = 0;

 protected:
  ~WatchListener() = default;
};

class Watcher final : private GrpcStreamListener {
 public:
  Watcher(Runtime& runtime, Cluster& cluster, Duration request_timeout);
  ~Watcher();

  using Id = std::int64_t;
  // Watches a key, or all up to `end`. `which` is what the listener knows it by.
  Id watch(const std::string& key, const std::string& end, Tell tell, WatchListener& listener,
           std::size_t which);
  void end(Id id);
  void stop() { background_.stop(); }

 private:
  struct Watch {
    std::string key;
    std::string end;
    Tell tell;
    WatchListener* listener;
    std::size_t which;
    bool asked = false;  // the server knows of it
  };

  void ask(Id id, Watch& watch);
  Task<void> open();
  void go_blind();
  void on_stream_message(std::string_view message) override;
  void on_stream_end(int status, const std::string& why) override;
  void take(const WatchAnswer& answer);

  Runtime& runtime_;
  Cluster& cluster_;
  const Duration request_timeout_;
  std::map<Id, Watch> watches_;
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

  void watch(const std::string& key, const std::string& end, Tell tell);
  // Ends all watches, and forgets what they told.
  void clear();

  Event told;
  bool blind = false;
  struct Told {
    std::size_t which = 0;
    WatchEvent event;
  };
  std::vector<Told> events;  // for whoever is told to take
  // True if all are being watched, each from the revision after this one or before.
  bool watching_since(Revision revision) const;
  bool all_watching() const { return watching_ == ids_.size(); }

 private:
  void on_watching(std::size_t which, Revision revision) override;
  void on_event(std::size_t which, const WatchEvent& event) override;
  void on_blind() override;

  Watcher& watcher_;
  std::vector<Watcher::Id> ids_;
  std::size_t watching_ = 0;
  Revision latest_start_ = 0;
};

}  // namespace holdfast::internal::etcd
