#include "lab/sim/schedule_workload.h"

namespace holdfast::lab::sim {

using enum FaultKind;

namespace {

FaultSet with(std::initializer_list<FaultKind> more) {
  FaultSet faults = common_faults();
  for (const FaultKind kind : more) faults.add(kind);
  return faults;
}

}  // namespace

StoreModel ideal_store() {
  StoreModel model;
  model.faults = common_faults();
  return model;
}

StoreModel redis_store() {
  StoreModel model;
  model.rules.wall_clock = true;
  model.rules.tokens = StoreRules::Tokens::server_clock;
  model.faults = with({server_jump});
  return model;
}

StoreModel redis_amnesia_store() {
  StoreModel model = redis_store();
  model.faults = with({server_jump, server_wipe});
  return model;
}

StoreModel redis_replica_store() {
  StoreModel model = redis_store();
  model.replica = true;
  model.faults = with({server_jump, failover});
  return model;
}

// By a clock that does not jump, in whole seconds: a hold ends up to one second early.
StoreModel memcached_store() {
  StoreModel model;
  model.ttl = std::chrono::seconds(3);
  model.rules.ends_early = std::chrono::seconds(1);
  model.client.margin = std::chrono::seconds(1);
  model.rules.tokens = StoreRules::Tokens::client_clock;
  model.rules.keeps_line = false;
  model.faults = with({eviction, server_wipe});
  return model;
}

StoreModel session_store() {
  StoreModel model;
  model.kind = StoreModel::Kind::sessions;
  model.client.sessions = true;
  model.faults = with({leader_change});
  return model;
}

StoreModel sql_store() {
  StoreModel model;
  model.kind = StoreModel::Kind::table;
  model.rules.wall_clock = true;
  model.faults = with({server_jump});
  return model;
}

std::vector<Expectation> unfenced_harm() {
  return {{Finding::harm_bare, {FaultSet()}, "a write comes late"},
          {Finding::harm_write_fence, {FaultSet()}, "a write comes between read and write"}};
}

}  // namespace holdfast::lab::sim
