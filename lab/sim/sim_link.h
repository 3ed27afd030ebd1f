// SimLink: how a simulated client reaches a node: one connection after the other. On one connection
// messages arrive in order; one that is lost takes all later ones with it, in both directions, until
// the client notices and connects again. Messages that are still under way on an old connection
// can then arrive after those on the new one.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>

#include "lab/sim/quorum_node.h"
#include "lab/sim/sim_network.h"

namespace holdfast::lab::sim {

struct LinkMarks {
  std::uint64_t broken = 0;
  std::uint64_t overtaken = 0;  // arrived on an old connection, after the new one was open
};

class SimLink {
 public:
  SimLink(internal::SimRuntime& client, QuorumNode& node, SimNetwork& network, LinkMarks& marks,
          Duration patience);
  ~SimLink();
  SimLink(const SimLink&) = delete;
  SimLink& operator=(const SimLink&) = delete;

  // A client that is cut off loses all that it sends.
  void set_cut(bool cut) { cut_ = cut; }

  bool connected() const { return wire_ && wire_->open; }
  // False if it cannot be opened, or has left a call unanswered for too long; then it is opened in
  // the background.
  bool responsive();
  Task<Result<void>> open(Deadline deadline);
  void stop() { background_.stop(); }

  struct Answer {
    std::any value;
    BootTime sent_at;
  };
  using Question = std::function<std::any(QuorumNode&)>;
  // Runs `question` at the node. unreachable: it never left. unknown: no answer came.
  Task<Result<Answer>> call(Question question, Deadline deadline);
  // From then on the node can tell us of turns, as long as the connection lasts.
  Task<Result<Answer>> subscribe(std::uint64_t channel, Deadline deadline);
  std::function<void(const ClaimId&)> on_turn;
  std::function<void()> on_lost;

 private:
  // One connection, known to both of its ends and to the messages under way.
  struct Wire {
    SimNetwork& network;
    LinkMarks& marks;
    QuorumNode& node;
    internal::SimRuntime& client;
    SimLink* link;  // null if the client has closed it
    bool open = false;
    bool broken = false;
    std::uint64_t boot = 0;
    BootTime last_there{};
    BootTime last_back{};
  };
  using WirePtr = std::shared_ptr<Wire>;
  struct Pending {
    Pending(SimLink& of, std::uint64_t its_number)
        : link(of), number(its_number), sent_at(of.client_.now()), done(of.client_) {
      link.pending_.emplace(number, this);
    }
    ~Pending() { link.pending_.erase(number); }
    SimLink& link;
    std::uint64_t number;
    BootTime sent_at;
    Event done;
    std::any answer;
    bool answered = false;
  };
  using OnWire = std::function<std::any(QuorumNode&, const WirePtr&)>;

  static constexpr std::uint64_t kTurn = 0;
  static void there(const WirePtr& wire, std::uint64_t number, OnWire question);
  static void back(const WirePtr& wire, std::uint64_t number, std::any value);
  static void lose(const WirePtr& wire);
  Task<Result<Answer>> exchange(OnWire question, Deadline deadline);
  Task<void> connect();
  void begin_to_open();
  void take(std::uint64_t number, std::any value);
  void drop();

  internal::SimRuntime& client_;
  QuorumNode& node_;
  SimNetwork& network_;
  LinkMarks& marks_;
  Duration patience_;
  bool cut_ = false;
  WirePtr wire_;
  std::uint64_t channel_ = 0;
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Pending*> pending_;
  BootTime last_heard_{};
  bool opening_ = false;
  bool last_failed_ = false;
  BootTime opening_since_{};
  BootTime not_before_{};
  Event opened_;
  TaskGroup background_;
};

}  // namespace holdfast::lab::sim
