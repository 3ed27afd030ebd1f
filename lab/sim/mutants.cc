#include "lab/sim/mutants.h"

#include "lab/sim/schedule_workload.h"

namespace holdfast::lab::sim {

using enum FaultKind;

namespace {

// A copy of a right model with one change.
template <class Change>
StoreModel changed(StoreModel model, Change change) {
  change(model);
  return model;
}

StoreModel redis_with_steady_clock() {
  StoreModel model = redis_store();
  model.faults = common_faults();
  return model;
}

// A mistake that is made on one server. That a server which lost its data grants the lock twice is not the mistake.
Mutant on_store(const char* name, const char* mistake, const StoreModel& model) {
  std::vector<Expectation> expected = unfenced_harm();
  expected.push_back({Finding::overlap, {FaultSet(server_wipe)}, "it restarts empty"});
  return {std::make_unique<StoreWorkload>(name, mistake, model, std::move(expected)), mistake};
}

// One that is made in a quorum.
template <class Workload>
Mutant on_quorum(const char* name, const char* mistake, const NodeRules& rules) {
  constexpr bool kLong = std::is_same_v<Workload, LongQuorumWorkload>;
  std::vector<FaultSet> excuses{FaultSet(server_jump)};
  if (kLong) excuses.emplace_back(unsafe_rejoin);
  std::vector<Expectation> expected = unfenced_harm();
  expected.push_back({Finding::overlap, std::move(excuses), "clocks jump"});
  return {std::make_unique<Workload>(name, mistake, QuorumModel{rules}, std::move(expected)),
          mistake};
}

// In the order of the literature: recipes for one server, time, tokens and fences, queues.
void add_store_mutants(std::vector<Mutant>& all) {
  const auto store = [&](const char* name, const char* mistake, const StoreModel& model) {
    all.push_back(on_store(name, mistake, model));
  };
  const StoreModel redis = redis_with_steady_clock();

  store("mutant/setnx-expire", "SETNX, then EXPIRE: two steps",
        changed(redis, [](auto& model) { model.recipe = NaiveRecipe::set_nx_expire; }));
  store("mutant/setnx-getset", "SETNX and GETSET with the clients' timestamps",
        changed(redis, [](auto& model) { model.recipe = NaiveRecipe::set_nx_get_set; }));
  store("mutant/plain-del", "release by plain DEL, whoever holds",
        changed(redis, [](auto& model) { model.rules.anyone_releases = true; }));
  store("mutant/table-without-expiry", "a lock table whose rows never expire",
        changed(sql_store(), [](auto& model) {
          model.kind = StoreModel::Kind::row;
          model.rules.never_expires = true;
          model.faults = common_faults();
        }));
  store("mutant/no-validity-check", "the holder never looks at the time",
        changed(redis, [](auto& model) { model.client.never_checks_time = true; }));
  store("mutant/validity-from-reply", "the grant's time counts from its reply",
        changed(redis, [](auto& model) { model.client.counts_from_reply = true; }));
  store("mutant/renewal-from-reply", "the renewal's time counts from its reply",
        changed(redis, [](auto& model) { model.client.counts_renewal_from_reply = true; }));
  store("mutant/renewal-resurrects", "renewal sets the word again, whoever holds",
        changed(redis, [](auto& model) { model.rules.renewal_creates = true; }));
  store("mutant/whole-seconds", "memcached's second is not taken off the ttl",
        changed(memcached_store(), [](auto& model) {
          model.client.margin = Duration(0);
          model.faults = common_faults();
        }));
  store("mutant/write-only-fence", "the fence checks tokens on writes alone",
        changed(redis, [](auto& model) { model.full_fence = Fencing::writes; }));
  store("mutant/counter-lost-on-restart", "tokens by INCR on a server that restarts empty",
        changed(redis_amnesia_store(), [](auto& model) {
          model.rules.tokens = StoreRules::Tokens::counter;
          model.faults = common_faults();
          model.faults.add(server_wipe);
        }));
  store("mutant/no-recheck-after-watch", "the place before mine is gone: the lock must be mine",
        changed(session_store(), [](auto& model) { model.client.trusts_watch = true; }));
  store("mutant/barging-newcomer", "a newcomer takes a free lock, past those who wait",
        changed(redis, [](auto& model) { model.rules.newcomers_barge = true; }));
}

void add_quorum_mutants(std::vector<Mutant>& all) {
  const auto quorum = [&](const char* name, const char* mistake, const NodeRules& rules) {
    all.push_back(on_quorum<LongQuorumWorkload>(name, mistake, rules));
  };
  all.push_back(on_quorum<BriefQuorumWorkload>("mutant/incr-max-tokens",
                                               "Redlock: the highest of the nodes' own counters",
                                               NodeRules{.counter_tokens = true}));
  quorum("mutant/no-word-check", "Redlock: a token is accepted without the word",
         NodeRules{.fences_without_word = true});
  quorum("mutant/plain-del-on-quorum", "Redlock: release by plain DEL",
         NodeRules{.anyone_releases = true});
  quorum("mutant/restored-copy-votes",
         "Redlock: a node that restarted with older data votes at once",
         NodeRules{.votes_when_restarted = true});
  quorum("mutant/empty-node-votes", "Redlock: a node that lost its data votes at once",
         NodeRules{.votes_when_empty = true});
}

}  // namespace

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = [] {
    std::vector<Mutant> made;
    add_store_mutants(made);
    add_quorum_mutants(made);
    return made;
  }();
  return all;
}

const Workload* find_mutant(const std::string& name) {
  for (const Mutant& mutant : mutants()) {
    if (mutant.workload->name() == name) return mutant.workload.get();
  }
  return nullptr;
}

}  // namespace holdfast::lab::sim
