#include "lab/sim/sim_network.h"

namespace holdfast::lab::sim {

bool SimNetwork::happens(double probability) {
  return static_cast<double>(world_.random().next() >> 11) * 0x1.0p-53 < probability;
}

void SimNetwork::send(internal::SimRuntime& to, std::function<void()> message) {
  ++marks_.sent;
  if (happens(faults_.loss)) {
    ++marks_.lost;
    return;
  }
  if (happens(faults_.duplication)) {
    ++marks_.duplicated;
    deliver(to, to.now() + draw_delay(), message);
  }
  deliver(to, to.now() + draw_delay(), std::move(message));
}

std::optional<BootTime> SimNetwork::draw_arrival(const internal::SimRuntime& to) {
  ++marks_.sent;
  if (happens(faults_.loss)) {
    ++marks_.lost;
    return std::nullopt;
  }
  return to.now() + draw_delay();
}

Duration SimNetwork::draw_delay() {
  Duration longest = faults_.max_delay;
  if (happens(faults_.slow)) {
    ++marks_.slow;
    longest = faults_.max_slow_delay;
  }
  const auto spread = static_cast<std::uint64_t>((longest - faults_.min_delay).count() + 1);
  return faults_.min_delay + Duration(static_cast<Duration::rep>(world_.random().next() % spread));
}

void SimNetwork::deliver(internal::SimRuntime& to, BootTime at, std::function<void()> message) {
  const auto place = under_way_.emplace(under_way_.end(), *this, to, std::move(message));
  place->place = place;
  to.arm(*place, at);
}

void SimNetwork::Parcel::on_time() {
  const std::function<void()> open = std::move(message);
  network.under_way_.erase(place);  // Destroys us.
  open();
}

void SimNetwork::drop_for(const internal::SimRuntime& node) {
  for (auto parcel = under_way_.begin(); parcel != under_way_.end();) {
    const auto here = parcel++;
    if (&here->receiver != &node) continue;
    here->receiver.disarm(*here);
    under_way_.erase(here);
  }
}

}  // namespace holdfast::lab::sim
