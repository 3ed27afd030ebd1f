#include "state.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace holdfast::model {
namespace {

// The orders in which claims can be written: identity first.
using Order = std::array<std::uint8_t, kMaxClaims>;
constexpr std::array<Order, 6> kOrders = {
    {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

std::span<const Order> orders_of(int claims) {
  constexpr std::array<std::size_t, 4> kCount = {1, 1, 2, 6};
  return std::span(kOrders).first(kCount[static_cast<std::size_t>(claims)]);
}

// The same statements pack and unpack: a Packer takes a field, an Unpacker fills it.
class Packer {
 public:
  std::uint64_t bits = 0;
  template <typename T>
  void field(T value, int width) {
    bits |= static_cast<std::uint64_t>(value) << at_;
    at_ += width;
    assert(at_ <= 64);
  }
  int width() const { return at_; }

 private:
  int at_ = 0;
};

class Unpacker {
 public:
  explicit Unpacker(std::uint64_t bits) : bits_(bits) {}
  template <typename T>
  void field(T& value, int width) {
    value = static_cast<T>(bits_ & ((std::uint64_t{1} << width) - 1));
    bits_ >>= width;
  }

 private:
  std::uint64_t bits_;
};

template <typename Bits, typename NodeT>
void node_fields(Bits& bits, NodeT& node, const Sizes& sizes) {
  bits.field(node.word, 2);
  bits.field(node.fence, 3);
  bits.field(node.fence_of, 2);
  bits.field(node.tenure, 3);
  if (sizes.epochs > 1) {
    bits.field(node.marker, 2);
    bits.field(node.epoch, 2);
    bits.field(node.rejoin, 1);
    bits.field(node.read_by, 2);
  }
  if (sizes.restarts) {
    bits.field(node.floor, 2);
    bits.field(node.remembers, 1);
    bits.field(node.refounds, 1);
    bits.field(node.has_read, 1);
    bits.field(node.copy.marker, 2);
    bits.field(node.copy.epoch, 2);
    bits.field(node.copy.word, 2);
    bits.field(node.copy.fence, 2);
    bits.field(node.copy.fence_of, 2);
    bits.field(node.copy.floor, 2);
    bits.field(node.copy.remembers, 1);
  }
}

void put_replies(Packer& bits, const Replies& replies, const Sizes& sizes) {
  bits.field(replies.locked, sizes.epochs);
  for (int epoch = 0; epoch < sizes.epochs; ++epoch) {
    const unsigned accepted = replies.accepted >> (epoch * kMaxTokens);
    bits.field(accepted & ((1U << sizes.tokens) - 1), sizes.tokens);
  }
}

void take_replies(Unpacker& bits, Replies& replies, const Sizes& sizes) {
  bits.field(replies.locked, sizes.epochs);
  unsigned accepted = 0;
  for (int epoch = 0; epoch < sizes.epochs; ++epoch) {
    unsigned part = 0;
    bits.field(part, sizes.tokens);
    accepted |= part << (epoch * kMaxTokens);
  }
  replies.accepted = static_cast<std::uint16_t>(accepted);
}

// Of what node_fields and other_fields write for runs with restarts. Tokens take two bits there.
constexpr int kWidthOfRestarts = 18;
constexpr int kWidthOfCounts = 10;

int width_of_node(const Sizes& sizes) {
  return 10 + (sizes.epochs > 1 ? 7 : 0) + (sizes.restarts ? kWidthOfRestarts : 0) +
         sizes.claims * sizes.epochs * (1 + sizes.tokens);
}

int width_of_attempts(const Sizes& sizes) {
  return 4 + kMaxEpochs + (sizes.restarts ? kWidthOfCounts : 0) +
         sizes.claims * (5 + 2 * sizes.tokens);
}

template <typename Bits, typename AttemptT>
void attempt_fields(Bits& bits, AttemptT& attempt, const Sizes& sizes) {
  bits.field(attempt.guess, 3);
  bits.field(attempt.granted, sizes.tokens);
  bits.field(attempt.too_late, sizes.tokens);
  bits.field(attempt.gave_up, 1);
  bits.field(attempt.releasing, 1);
}

template <typename Bits, typename StateT>
void other_fields(Bits& bits, StateT& state, const Sizes& sizes) {
  bits.field(state.newest, 2);
  bits.field(state.established, kMaxEpochs);
  bits.field(state.wipes, 2);
  if (sizes.restarts) {
    bits.field(state.restarts, 2);
    bits.field(state.restores, 2);
    bits.field(state.top, 2);
    bits.field(state.floors[1], 2);
    bits.field(state.floors[2], 2);
  }
}

// `width` bits of a key, from bit `at` on.
void put_bits(Key& key, int at, int width, std::uint64_t value) {
  assert(width < 64 && at + width <= static_cast<int>(64 * key.size()));
  const auto word = static_cast<std::size_t>(at / 64);
  const int from = at % 64;
  key[word] |= value << from;
  if (from != 0 && from + width > 64) key[word + 1] |= value >> (64 - from);
}

std::uint64_t take_bits(const Key& key, int at, int width) {
  const auto word = static_cast<std::size_t>(at / 64);
  const int from = at % 64;
  std::uint64_t value = key[word] >> from;
  if (from != 0 && from + width > 64) value |= key[word + 1] << (64 - from);
  return value & ((std::uint64_t{1} << width) - 1);
}

Key key_in_order(const State& state, const Sizes& sizes, const Order& order) {
  const auto claims = static_cast<std::size_t>(sizes.claims);
  const auto nodes = static_cast<std::size_t>(sizes.nodes);
  std::array<Claim, kMaxClaims + 1> name{};
  for (std::size_t i = 0; i < claims; ++i) name[order[i] + 1U] = static_cast<Claim>(i + 1);

  std::array<std::uint64_t, kMaxNodes> columns{};
  for (std::size_t n = 0; n < nodes; ++n) {
    Node node = state.nodes[n];
    node.word = name[node.word];
    node.fence_of = name[node.fence_of];
    node.copy.word = name[node.copy.word];
    node.copy.fence_of = name[node.copy.fence_of];
    Packer bits;
    node_fields(bits, node, sizes);
    for (std::size_t i = 0; i < claims; ++i) put_replies(bits, node.replies[order[i]], sizes);
    assert(bits.width() == width_of_node(sizes));
    columns[n] = bits.bits;
  }
  std::sort(columns.begin(), columns.begin() + sizes.nodes);

  Key key{};
  const int width = width_of_node(sizes);
  for (std::size_t n = 0; n < nodes; ++n) {
    put_bits(key, static_cast<int>(n) * width, width, columns[n]);
  }
  Packer bits;
  other_fields(bits, state, sizes);
  for (std::size_t i = 0; i < claims; ++i) attempt_fields(bits, state.attempts[order[i]], sizes);
  assert(bits.width() == width_of_attempts(sizes));
  put_bits(key, sizes.nodes * width, bits.width(), bits.bits);
  return key;
}

}  // namespace

Key key_of(const State& state, const Sizes& sizes) {
  Key least = key_in_order(state, sizes, kOrders[0]);
  for (const Order& order : orders_of(sizes.claims).subspan(1)) {
    least = std::min(least, key_in_order(state, sizes, order));
  }
  return least;
}

State state_of(const Key& key, const Sizes& sizes) {
  State state;
  const int width = width_of_node(sizes);
  for (int n = 0; n < sizes.nodes; ++n) {
    Unpacker bits(take_bits(key, n * width, width));
    Node& node = state.nodes[static_cast<std::size_t>(n)];
    node_fields(bits, node, sizes);
    for (int i = 0; i < sizes.claims; ++i) {
      take_replies(bits, node.replies[static_cast<std::size_t>(i)], sizes);
    }
  }
  Unpacker bits(take_bits(key, sizes.nodes * width, width_of_attempts(sizes)));
  other_fields(bits, state, sizes);
  for (int i = 0; i < sizes.claims; ++i) {
    attempt_fields(bits, state.attempts[static_cast<std::size_t>(i)], sizes);
  }
  return state;
}

}  // namespace holdfast::model
