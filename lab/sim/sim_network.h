// SimNetwork: messages between the nodes of a simulated world, with delay, loss, duplication and
// cut-off. A message is a function that runs on the receiver's node.
#pragma once

#include <functional>
#include <list>
#include <optional>

#include "lab/sim/kept_memory.h"
#include "lab/sim/sim_runtime.h"

namespace holdfast::lab::sim {

struct NetworkFaults {
  double loss = 0;
  double duplication = 0;
  Duration min_delay = std::chrono::microseconds(50);
  Duration max_delay = std::chrono::milliseconds(2);
  double slow = 0;  // how many messages take up to max_slow_delay instead
  Duration max_slow_delay = std::chrono::seconds(2);
};

// How often each fault bit. A run in which one of them never did has tested nothing.
struct NetworkMarks {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t slow = 0;
};

class SimNetwork {
 public:
  SimNetwork(internal::SimWorld& world, NetworkMarks& marks) : world_(world), marks_(marks) {}

  void set_faults(const NetworkFaults& faults) { faults_ = faults; }
  void send(internal::SimRuntime& to, std::function<void()> message);
  // For those who keep their own order. When a message that leaves now would arrive, by the clock of
  // its receiver; nothing if it is lost.
  std::optional<BootTime> draw_arrival(const internal::SimRuntime& to);
  void deliver(internal::SimRuntime& to, BootTime at, std::function<void()> message);
  // Forgets what is under way to a node that is about to be destroyed.
  void drop_for(const internal::SimRuntime& node);

 private:
  struct Parcel;
  using Parcels = std::list<Parcel, KeptMemory<Parcel>>;
  struct Parcel final : Timer {
    Parcel(SimNetwork& the_network, internal::SimRuntime& the_receiver,
           std::function<void()> the_message)
        : network(the_network), receiver(the_receiver), message(std::move(the_message)) {}
    void on_time() override;

    SimNetwork& network;
    internal::SimRuntime& receiver;
    std::function<void()> message;
    Parcels::iterator place;
  };

  Duration draw_delay();
  bool happens(double probability);

  internal::SimWorld& world_;
  NetworkMarks& marks_;
  NetworkFaults faults_;
  Parcels under_way_;
};

}  // namespace holdfast::lab::sim
