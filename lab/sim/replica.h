// Replica: two simulated servers of which one serves and the other follows, asynchronously: what
// has not arrived when it takes over is lost.
#pragma once

#include <utility>

#include "lab/sim/sim_engine.h"
#include "lab/sim/sim_store.h"

namespace holdfast::lab::sim {

class Replica {
 public:
  // `server` becomes the first of them.
  Replica(internal::SimRuntime& first, internal::SimRuntime& second, const StoreRules& rules,
          SimNetwork& network, SimServer& server)
      : first_{first, SimStore(first, rules)},
        second_{second, SimStore(second, rules)},
        network_(network),
        server_(server) {
    serve(first_, second_);
  }

  SimStore& serving() { return *master_; }
  // From now on nothing reaches the follower.
  void cut_link() { linked_ = false; }
  void fail_over() { master_ == &first_.store ? serve(second_, first_) : serve(first_, second_); }

 private:
  struct Half {
    internal::SimRuntime& node;
    SimStore store;
  };

  // The other one was down; it comes back empty and follows.
  void serve(Half& half, Half& other) {
    master_ = &half.store;
    ++terms_;
    half.store.serving = true;
    other.store.on_change = nullptr;
    other.store.serving = false;
    other.store.wipe();
    linked_ = true;
    half.store.on_change = [this, &other, term = terms_](const SimStore::Data& data) {
      if (!linked_) return;
      network_.send(other.node, [this, &other, term, number = ++sent_, data] {
        // On one connection nothing overtakes: what comes late is older than what is there.
        if (term != terms_ || !linked_ || number <= arrived_) return;
        arrived_ = number;
        other.store.adopt(data);
      });
    };
    server_.node = &half.node;
    server_.store = &half.store;
  }

  Half first_;
  Half second_;
  SimNetwork& network_;
  SimServer& server_;
  SimStore* master_ = nullptr;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t terms_ = 0;
  bool linked_ = true;
};

}  // namespace holdfast::lab::sim
