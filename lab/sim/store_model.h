// StoreModel: one server of the field as the simulation knows it: how it keeps a lock, what can
// befall it, and how its clients deal with it.
#pragma once

#include "lab/sim/fault.h"
#include "lab/sim/naive/naive_engine.h"
#include "lab/sim/protected_register.h"
#include "lab/sim/sim_engine.h"
#include "lab/sim/sim_store.h"

namespace holdfast::lab::sim {

struct StoreModel {
  enum class Kind { row, table, sessions };
  Kind kind = Kind::row;
  bool replica = false;
  Duration ttl = std::chrono::seconds(1);
  StoreRules rules;
  ClientRules client;
  NaiveRecipe recipe = NaiveRecipe::none;
  // The checks of the register that is said to be fully fenced.
  Fencing full_fence = Fencing::reads_and_writes;
  FaultSet faults;
};

// Faults that any server and any network can have, and that no lease may suffer from.
inline constexpr FaultSet common_faults() {
  using enum FaultKind;
  return FaultSet(loss, duplication, slow, drift, client_skew, client_pause, client_cut,
                  one_way_cut, client_crash, client_jump, server_pause, server_restart);
}

}  // namespace holdfast::lab::sim
