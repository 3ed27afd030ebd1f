// QuorumNode: one node of a simulated quorum. It decides as the scripts of the Redlock engine do
// (src/engines/redlock/scripts.cc): the word, readers, the fence F, the line with a short
// reservation for its head, the marker. Its data survive a restart, unless they are wiped, or
// replaced by an older copy. One lock name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "engines/quorum/voter.h"
#include "lab/sim/sim_runtime.h"

namespace holdfast::lab::sim {

// Mistakes of the literature.
struct NodeRules {
  bool counter_tokens = false;        // each node counts for itself
  bool fences_without_word = false;   // a token is accepted though the word is not the claim's
  bool votes_when_empty = false;      // a node that lost its data votes at once
  bool votes_when_restarted = false;  // a node that was restarted votes on with the data it has
  bool anyone_releases = false;       // plain DEL
};

class QuorumNode {
 public:
  QuorumNode(internal::SimWorld& world, std::size_t number, const NodeRules& rules = {})
      : runtime_(world), number_(number), rules_(rules) {}

  internal::SimRuntime& runtime() { return runtime_; }
  std::size_t number() const { return number_; }

  // ---- Its part in the electorate: docs/REDLOCK.md, "A node comes back" ------------------

  struct Marker {
    enum class State { blank, marked, joining, open, restarted };
    enum class Memory { none, older, refounds };
    State state = State::blank;
    internal::quorum::Era era;
    bool established = false;
    std::uint64_t nonce = 0;  // another one after each loss
    std::int64_t until_us = 0;
    std::uint64_t run = 0;  // the boot() in which it was written
    std::uint64_t floor = 0;
    Memory memory = Memory::none;
    friend bool operator==(const Marker&, const Marker&) = default;
    bool votes() const { return state == State::open; }
    bool remembers() const { return memory != Memory::none; }
  };
  // As it is in this process: one that was written in another is `restarted`.
  Marker marker() const;
  std::int64_t clock_us() const { return now_us(); }
  // How long a node that is joining stays silent.
  Duration silent_for() const;
  void mark(std::uint64_t nonce);
  void raise(const internal::quorum::Era& era, bool established, std::uint64_t floor);
  void join(const Marker& from, const Marker& to, Duration silence);
  void open(const Marker& from, std::uint64_t nonce, std::uint64_t floor);
  bool adopt(const Marker& from, std::uint64_t token);
  std::uint64_t fence() const { return fence_.token; }

  // ---- Requests ---------------------------------------------------------------------------------

  // A claim as it arrives here.
  struct Ask {
    ClaimId id;
    Mode mode = Mode::exclusive;
    Duration ttl{};
    Duration keep{};            // how long the word is kept for it when it is its turn
    std::uint64_t channel = 0;  // where it hears of that
    std::int64_t waited_us = 0;
  };
  struct Voted {
    internal::quorum::Ballot ballot;
    Marker marker;
  };
  Voted vote(const Ask& ask, const internal::quorum::Proposal& proposal, const Marker& marker);
  Voted confirm(const Ask& ask, const internal::quorum::Proposal& proposal, const Marker& marker);
  internal::quorum::Standing::Kind renew(const Ask& ask, std::uint64_t token);
  bool release(const Ask& ask, const internal::quorum::Voter::Return& how);

  using Push = std::function<void(const ClaimId&)>;
  void subscribe(std::uint64_t channel, Push push) { channels_[channel] = std::move(push); }
  void unsubscribe(std::uint64_t channel) { channels_.erase(channel); }

  // ---- Being a server ---------------------------------------------------------------------------

  enum class Script { vote, fence, renew, release, marker };
  bool knows(Script script) const { return scripts_ >> static_cast<int>(script) & 1U; }
  void learn(Script script) { scripts_ |= 1U << static_cast<int>(script); }
  // Another one after each restart, which ends all connections.
  std::uint64_t boot() const { return boot_; }
  void on_restart(std::function<void()> tell) { connections_.push_back(std::move(tell)); }
  void restart();
  void wipe();
  void copy() { copy_ = Data{marker_, mode_, holders_, fence_, line_, line_ends_us_}; }
  bool copy_remembers() const { return copy_.marker.votes() || copy_.marker.remembers(); }
  // Restarts with the last copy; the first one is that of a new node.
  void restore();

  // ---- For the checker --------------------------------------------------------------------------

  bool has_word(const ClaimId& id);
  struct Held {
    ClaimId id;
    std::uint64_t accepted = 0;  // the token accepted for it since the word was set
    bool reserved = false;
  };
  // The claim that has the word alone.
  std::optional<Held> held();
  bool locked();
  bool in_line(const ClaimId& id) const;
  std::uint64_t reservations = 0;
  std::uint64_t reservations_used = 0;
  std::uint64_t low_tokens = 0;
  std::uint64_t rejoins = 0;
  std::uint64_t refoundings = 0;
  // Found out that who stood in line is dead.
  std::uint64_t unheard = 0;

 private:
  struct Word {
    std::uint32_t attempt = 0;
    std::int64_t ends_us = 0;
    std::uint64_t accepted = 0;
    bool reserved = false;
  };
  struct Waiter {
    std::uint64_t ticket = 0;
    Ask ask;
  };
  struct Fence {
    std::uint64_t token = 0;
    ClaimId owner;  // none: taken over from others
  };

  std::int64_t now_us() const;
  void drop_ended();
  Word* word_of(const ClaimId& id);
  bool admits(Mode mode) const;
  void set_word(const Ask& ask, std::uint32_t attempt, Duration ttl);
  bool free_word(const ClaimId& id, std::uint32_t attempt);
  internal::quorum::Ballot accept(const ClaimId& id, std::uint64_t token, bool again, bool holds);
  internal::quorum::Ballot refuse(const Ask& ask);
  bool serve(const ClaimId* self, const ClaimId* giver = nullptr);
  void queue_up(const Ask& ask, const internal::quorum::Arrival& arrival);

  internal::SimRuntime runtime_;
  std::size_t number_;
  NodeRules rules_;
  Marker marker_{.state = Marker::State::open, .era = {1, 1}, .established = true};
  Mode mode_ = Mode::exclusive;      // of those who have the word
  std::map<ClaimId, Word> holders_;  // one, or readers
  Fence fence_;
  std::vector<Waiter> line_;  // by ticket
  std::int64_t line_ends_us_ = 0;
  struct Data {
    Marker marker{.state = Marker::State::open, .era = {1, 1}, .established = true};
    Mode mode = Mode::exclusive;
    std::map<ClaimId, Word> holders;
    Fence fence;
    std::vector<Waiter> line;
    std::int64_t line_ends_us = 0;
  };
  Data copy_;
  std::map<std::uint64_t, Push> channels_;
  unsigned scripts_ = 0;
  std::uint64_t boot_ = 0;
  std::vector<std::function<void()>> connections_;
};

}  // namespace holdfast::lab::sim
