// The model checker's state of a cluster at one moment: the nodes, and of the attempts only what
// others could tell apart. Plain values; protocol.h says how one state follows another.
//
// Requests are never taken away once they were sent: that is what makes delay, reordering,
// duplication and loss (a request that no node executes) possible everywhere, at no cost in states.
// For the same reason a reply counts as soon as the node has made it. A client that counts later
// knows no more, and every property is about what was granted first.
#ifndef HOLDFAST_TESTS_MODEL_STATE_H_
#define HOLDFAST_TESTS_MODEL_STATE_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace holdfast::model {

inline constexpr int kMaxNodes = 5;
inline constexpr int kMaxClaims = 3;
inline constexpr int kMaxTokens = 4;
inline constexpr int kMaxEpochs = 3;

// Claims are 1, 2, 3; no claim is 0. Tokens are 1…kMaxTokens; no token is 0. Epochs are 1…kMaxEpochs.
using Claim = std::uint8_t;
using Token = std::uint8_t;
using Epoch = std::uint8_t;

// kClosed: it was restarted with data, whose age nobody knows.
enum class Marker : std::uint8_t { kOpen, kBlank, kJoining, kClosed };

// The answers of one node to one claim in all its lives: replies survive the node's memory.
struct Replies {
  std::uint8_t locked = 0;     // bit e-1: it locked for this claim in epoch e
  std::uint16_t accepted = 0;  // bit accepted_bit(e, t): it accepted t in epoch e
};

constexpr int accepted_bit(Epoch epoch, Token token) {
  return (epoch - 1) * kMaxTokens + token - 1;
}

// A copy of a node's data. The first one was taken before anything happened.
struct Copy {
  Marker marker = Marker::kOpen;
  Epoch epoch = 1;
  Claim word = 0;
  Token fence = 0;
  Claim fence_of = 0;
  Token floor = 0;
  bool remembers = true;
  friend bool operator==(const Copy&, const Copy&) = default;
};

struct Node {
  Marker marker = Marker::kOpen;
  Epoch epoch = 1;           // while joining: the epoch that it will open with
  Claim word = 0;            // the claim that holds the lock here
  Token fence = 0;           // F; while joining: the greatest that was read from the others so far
  Claim fence_of = 0;        // the claim in F; 0 after a rejoin
  Token tenure = 0;          // ghost: the last token that `word` got accepted since it has the word
  std::uint8_t rejoin = 0;   // while joining: which of two rejoins at a time this is
  std::uint8_t read_by = 0;  // bit r: rejoin r has read this node's F
  std::array<Replies, kMaxClaims> replies{};
  // Of runs with restarts (Sizes::restarts):
  Token floor = 0;        // no token up to this one is accepted
  bool remembers = true;  // it was open before it was closed, so its F is worth reading
  bool refounds = false;  // while joining: together with others, as too few are open
  bool has_read = false;  // while refounding: it has the greatest F of a majority
  Copy copy;
};

// An attempt to take the lock, under an id of its own.
struct Attempt {
  Token guess = 0;            // the token of its votes; 0: it has not begun
  std::uint8_t granted = 0;   // bit t-1: a majority accepted t
  std::uint8_t too_late = 0;  // ghost, bit t-1: being granted t from now on would break the order
  bool gave_up = false;       // it counts no more replies
  bool releasing = false;     // its releases are under way
};

struct State {
  std::array<Node, kMaxNodes> nodes{};
  std::array<Attempt, kMaxClaims> attempts{};
  Epoch newest = 1;              // the greatest epoch that anybody ever chose
  std::uint8_t established = 1;  // bit e-1: at some moment a majority was open in e or later
  std::uint8_t wipes = 0;        // how many there were
  // Of runs with restarts:
  std::uint8_t restarts = 0;               // with all data
  std::uint8_t restores = 0;               // with older data
  Token top = 0;                           // ghost: the greatest token that any node ever accepted
  std::array<Token, kMaxEpochs> floors{};  // of epochs that refound; 0 for others
};

// How many of everything there are: what a packed state has room for.
struct Sizes {
  int nodes = 3;
  Claim claims = 2;
  Token tokens = 3;
  Epoch epochs = 1;
  bool restarts = false;  // whether there is room for what runs with restarts need
};

// A state without the names of nodes and claims: states that differ in names only have one key.
using Key = std::array<std::uint64_t, 3>;

Key key_of(const State& state, const Sizes& sizes);

// One of the states with that key.
State state_of(const Key& key, const Sizes& sizes);

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_STATE_H_
