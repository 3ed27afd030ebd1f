// FaultKind: what can befall a simulated world, and a set of such kinds.
#pragma once

#include <cstdint>

namespace holdfast::lab::sim {

enum class FaultKind {
  loss,  // messages
  duplication,
  slow,
  drift,        // clocks run apart, as far as a lease allows for
  client_skew,  // the clients' wall clocks differ
  client_pause,
  client_cut,   // off from the servers, both ways
  one_way_cut,  // what it sends arrives, the answers do not; or the other way round
  client_crash,
  client_jump,  // of a client's wall clock
  server_pause,
  server_jump,     // of a server's wall clock
  server_restart,  // with its data
  server_wipe,     // it restarts empty
  server_restore,  // it restarts with older data
  eviction,
  failover,       // to a replica that may be behind
  leader_change,  // sessions begin anew
  unsafe_rejoin,  // a node that lost its data is not silent before it votes again
};
inline constexpr int kFaultKinds = static_cast<int>(FaultKind::unsafe_rejoin) + 1;

const char* to_text(FaultKind kind);

class FaultSet {
 public:
  constexpr FaultSet() = default;
  template <class... Kinds>
  constexpr explicit FaultSet(Kinds... kinds) {
    (add(kinds), ...);
  }
  constexpr void add(FaultKind kind) { bits_ |= std::uint32_t{1} << static_cast<int>(kind); }
  constexpr bool has(FaultKind kind) const { return bits_ >> static_cast<int>(kind) & 1U; }
  constexpr bool includes(FaultSet others) const { return (others.bits_ & ~bits_) == 0; }

 private:
  std::uint32_t bits_ = 0;
};

}  // namespace holdfast::lab::sim
