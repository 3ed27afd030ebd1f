// Breadth-first search through all states of a model: the first violation found has a shortest way.
#ifndef HOLDFAST_TESTS_MODEL_EXPLORER_H_
#define HOLDFAST_TESTS_MODEL_EXPLORER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::model {

// Every key that was reached, in the order of discovery, each with the one it was reached from.
// An index is four bytes: four thousand million states are more than fit into memory.
template <typename Key>
class Reached {
 public:
  struct Added {
    std::uint32_t index;
    bool is_new;
  };

  Added add(const Key& key, std::uint32_t from) {
    if (keys_.size() * 10 >= slots_.size() * 7) grow();
    for (std::size_t i = hash(key) & mask();; i = (i + 1) & mask()) {
      if (slots_[i] == kFree) {
        slots_[i] = static_cast<std::uint32_t>(keys_.size());
        keys_.push_back(key);
        from_.push_back(from);
        return {slots_[i], true};
      }
      if (keys_[slots_[i]] == key) return {slots_[i], false};
    }
  }

  std::size_t size() const { return keys_.size(); }
  const Key& key(std::uint32_t index) const { return keys_[index]; }

  // The keys from the first state to this one.
  std::vector<Key> way_to(std::uint32_t index) const {
    std::vector<Key> way{keys_[index]};
    while (index != from_[index]) way.push_back(keys_[index = from_[index]]);
    std::reverse(way.begin(), way.end());
    return way;
  }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;

  static std::size_t hash(const Key& key) {
    std::uint64_t h = 0;
    for (const std::uint64_t word : key) {
      h = (h ^ word) * 0x9E3779B97F4A7C15ULL;
      h ^= h >> 29;
    }
    return h * 0xBF58476D1CE4E5B9ULL >> 20;
  }
  std::size_t mask() const { return slots_.size() - 1; }

  void grow() {
    slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, kFree);
    for (std::uint32_t index = 0; index < keys_.size(); ++index) {
      std::size_t i = hash(keys_[index]) & mask();
      while (slots_[i] != kFree) i = (i + 1) & mask();
      slots_[i] = index;
    }
  }

  std::vector<Key> keys_;
  std::vector<std::uint32_t> from_;
  std::vector<std::uint32_t> slots_;
};

// Model has: Key; State; Step; State first(); Key key(State); State state(Key);
// successors(State, f(Step, State)); optional<string> violation(State); saw(Step, State, bool is_new)
// for every step found, for counting.
template <typename Model>
struct Outcome {
  std::size_t states = 0;
  int depth = 0;
  bool complete = true;  // false: stopped at max_states
  std::optional<std::string> violation;
  std::vector<typename Model::Step> steps;  // the shortest way to the violation
};

// A way through states without names, told with the names of its first state.
template <typename Model>
void retell(Model& model, const std::vector<typename Model::Key>& way, Outcome<Model>& outcome) {
  typename Model::State state = model.first();
  for (std::size_t i = 1; i < way.size(); ++i) {
    std::optional<typename Model::State> next;
    model.successors(state, [&](const auto& step, const auto& after) {
      if (next || model.key(after) != way[i]) return;
      outcome.steps.push_back(step);
      next = after;
    });
    state = next.value();
  }
  outcome.violation = model.violation(state);
}

template <typename Model>
Outcome<Model> explore(Model& model, std::size_t max_states) {
  Reached<typename Model::Key> reached;
  Outcome<Model> outcome;
  std::optional<std::uint32_t> bad;
  reached.add(model.key(model.first()), 0);
  std::size_t layer_ends = 1;
  for (std::uint32_t at = 0; at < reached.size() && !bad; ++at) {
    if (at == layer_ends) {
      ++outcome.depth;
      layer_ends = reached.size();
    }
    if (reached.size() >= max_states) {
      outcome.complete = false;
      break;
    }
    model.successors(model.state(reached.key(at)), [&](const auto& step, const auto& after) {
      if (bad) return;
      const auto [index, is_new] = reached.add(model.key(after), at);
      model.saw(step, after, is_new);
      if (is_new && model.violation(after)) bad = index;
    });
  }
  outcome.states = reached.size();
  if (bad) retell(model, reached.way_to(*bad), outcome);
  return outcome;
}

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_EXPLORER_H_
