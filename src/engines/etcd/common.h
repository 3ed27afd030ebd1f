// Common: what all the claims of a client have in common. Inside the loop only.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "engines/etcd/holdings.h"
#include "engines/etcd/keys.h"
#include "engines/etcd/places.h"
#include "engines/etcd/queue.h"
#include "engines/etcd/settings.h"
#include "engines/etcd/watcher.h"
#include "engines/kit/local_queue.h"

namespace holdfast::internal::etcd {

class Turn;

// The claim's pair, if it is in the queue. `key` is where it is; empty: somewhere among its lock's.
Task<Result<std::optional<KeyValue>>> find_claim(Cluster& cluster, Keys keys, Claim claim,
                                                 std::string key, Deadline deadline);

// A release that is under way. Its end can be heard from a watch before its answer comes.
struct Release {
  Release(Runtime& runtime, Revision of) : token(of), done(runtime) {}
  const Revision token;
  Event done;
  std::optional<Result<bool>> answer;
};

// Entrance: lets so many claims into queues at a time, in the order in which they came. A thousand
// at once would all wait for the last answer, and take a busy server for a dead one.
class Entrance {
 public:
  explicit Entrance(Runtime& runtime) : runtime_(runtime) {}

  class Pass {
   public:
    explicit Pass(Entrance& entrance) : entrance_(entrance), turn_(entrance.runtime_) {}
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    // To be waited for once; whoever is not let in has nothing to give back.
    Event::Awaiter wait(Deadline deadline, std::stop_token stop);

   private:
    friend class Entrance;
    Entrance& entrance_;
    Event turn_;
    bool waits_ = false;
    bool inside_ = false;
  };

 private:
  void let_in(Pass& pass);

  static constexpr int kMost = 32;
  Runtime& runtime_;
  int inside_ = 0;
  std::list<Pass*> line_;
};

struct Common {
  Common(Runtime& runtime, const Settings& settings);

  Runtime& runtime;
  const Settings settings;
  Cluster cluster;
  Sessions sessions;
  Watcher watcher;
  Holdings holdings;
  Places places;
  Entrance entrance;
  std::unordered_map<ClaimId, Turn*> waiting;
  LocalQueue<InTheWay> local_queue;  // of the exclusive ones among them; locks by Keys::base
  std::unordered_multimap<std::string, Turn*> watched;  // keys that claims of ours wait for
  std::unordered_map<std::string, std::shared_ptr<Release>> releases;  // by key
  TaskGroup background;  // Last: its tasks end before what they use.

  Deadline request_deadline(Deadline deadline) const;
  Failure makes_no_sense() const;
  Failure cancelled() const { return Failure(Code::cancelled, "cancelled by the caller"); }
  // Ends the hold, or the wait, of a claim. `token` is 0 if it is not known, and `key` empty.
  Task<Result<bool>> remove(Claim claim, std::string key, Revision token, Deadline deadline);
  // Ends a hold, and leaves its place. See there for what it asks etcd.
  Task<Result<bool>> give_back(Claim claim, Deadline deadline);
  // The same for a key that claims of ours may wait for: it also ends when one of them hears that it
  // is gone. Or that one could hold, and let go, before anybody knows that this one has let go.
  Task<Result<bool>> give_back_or_hear(Claim claim, std::string key, Revision token,
                                       Deadline deadline);
  void heard_removal(const std::string& key, Revision token);
  // Tells who watches our key that we hold: see InTheWay::last.
  // `place` is given up then, not before: a watch that begins while something is being written may
  // have to wait for etcd's catch-up, and the next of our claims begins one when it moves up.
  Task<void> mark(std::string key, Revision token, std::string note,
                  std::unique_ptr<LocalQueue<InTheWay>::Entry> place);
};

}  // namespace holdfast::internal::etcd
