#include "lab/sim/sim_link.h"

#include <algorithm>

namespace holdfast::lab::sim {

using internal::SimRuntime;

SimLink::SimLink(SimRuntime& client, QuorumNode& node, SimNetwork& network, LinkMarks& marks,
                 Duration patience)
    : client_(client),
      node_(node),
      network_(network),
      marks_(marks),
      patience_(patience),
      opened_(client),
      background_(client) {}

SimLink::~SimLink() {
  background_.abandon();
  on_lost = nullptr;
  drop();
}

// ---- Under way ---------------------------------------------------------------------------------

void SimLink::there(const WirePtr& wire, std::uint64_t number, OnWire question) {
  if (wire->broken) return;
  const bool cut = wire->link && wire->link->cut_;
  const std::optional<BootTime> arrival =
      cut ? std::nullopt : wire->network.draw_arrival(wire->node.runtime());
  if (!arrival) {
    lose(wire);
    return;
  }
  wire->last_there = std::max(*arrival, wire->last_there + Duration(1));
  wire->network.deliver(wire->node.runtime(), wire->last_there, [wire, number, question] {
    if (wire->open && wire->boot != wire->node.boot()) return;
    if (!wire->link) ++wire->marks.overtaken;
    std::any value = question(wire->node, wire);
    back(wire, number, std::move(value));
  });
}

void SimLink::back(const WirePtr& wire, std::uint64_t number, std::any value) {
  if (wire->broken || !wire->link) return;
  const std::optional<BootTime> arrival =
      wire->link->cut_ ? std::nullopt : wire->network.draw_arrival(wire->client);
  if (!arrival) {
    lose(wire);
    return;
  }
  wire->last_back = std::max(*arrival, wire->last_back + Duration(1));
  wire->network.deliver(wire->client, wire->last_back, [wire, number, value] {
    if (wire->link && !wire->broken) wire->link->take(number, value);
  });
}

// The client notices after a while, or when it gets no answer.
void SimLink::lose(const WirePtr& wire) {
  constexpr std::uint64_t kNoticedWithinUs = 1'000'000;
  if (wire->broken) return;
  wire->broken = true;
  ++wire->marks.broken;
  if (!wire->link) return;
  const auto after = std::chrono::microseconds(wire->client.random() % kNoticedWithinUs);
  wire->network.deliver(wire->client, wire->client.now() + after, [wire] {
    if (wire->link) wire->link->drop();
  });
}

void SimLink::drop() {
  if (!wire_) return;
  const WirePtr wire = std::move(wire_);
  wire_ = nullptr;
  wire->link = nullptr;
  // The node hears of the end, unless nothing reaches it.
  if (channel_ != 0 && !wire->broken && !cut_) wire->node.unsubscribe(channel_);
  channel_ = 0;
  for (const auto& [number, pending] : pending_) pending->done.set();
  if (on_lost) on_lost();
}

void SimLink::take(std::uint64_t number, std::any value) {
  last_heard_ = client_.now();
  if (number == kTurn) {
    if (on_turn) on_turn(std::any_cast<ClaimId>(value));
    return;
  }
  const auto found = pending_.find(number);
  if (found == pending_.end()) return;
  found->second->answer = std::move(value);
  found->second->answered = true;
  found->second->done.set();
}

// ---- Asking ------------------------------------------------------------------------------------

Task<Result<SimLink::Answer>> SimLink::exchange(OnWire question, Deadline deadline) {
  Pending pending(*this, next_number_++);
  const WirePtr wire = wire_;
  there(wire, pending.number, std::move(question));
  static_cast<void>(co_await pending.done.wait(deadline));
  if (!pending.answered) {
    // It says nothing at all: the next one may do better.
    if (wire_ == wire && last_heard_ < pending.sent_at) drop();
    co_return Failure(Code::unknown, "no answer from the simulated node");
  }
  Answer answer{std::move(pending.answer), pending.sent_at};
  co_return answer;
}

Task<Result<SimLink::Answer>> SimLink::call(Question question, Deadline deadline) {
  if (!connected()) co_return Failure(Code::unreachable, "not connected");
  OnWire on_wire = [question = std::move(question)](QuorumNode& node, const WirePtr&) {
    return question(node);
  };
  co_return co_await exchange(std::move(on_wire), deadline);
}

Task<Result<SimLink::Answer>> SimLink::subscribe(std::uint64_t channel, Deadline deadline) {
  if (!connected()) co_return Failure(Code::unreachable, "not connected");
  channel_ = channel;
  OnWire on_wire = [channel](QuorumNode& node, const WirePtr& wire) {
    node.subscribe(channel, [wire](const ClaimId& id) { back(wire, kTurn, id); });
    return std::any(true);
  };
  co_return co_await exchange(std::move(on_wire), deadline);
}

// ---- Connecting --------------------------------------------------------------------------------

bool SimLink::responsive() {
  const BootTime now = client_.now();
  if (!connected()) {
    const bool given_up = last_failed_ || (opening_ && now - opening_since_ > patience_);
    if (given_up) begin_to_open();
    return !given_up;
  }
  return std::none_of(pending_.begin(), pending_.end(), [&](const auto& call) {
    return now - call.second->sent_at > patience_ && last_heard_ < call.second->sent_at;
  });
}

void SimLink::begin_to_open() {
  if (opening_ || connected() || client_.now() < not_before_) return;
  opening_ = true;
  opening_since_ = client_.now();
  opened_.reset();
  background_.spawn(connect());
}

Task<void> SimLink::connect() {
  drop();
  const Wire fresh{
      .network = network_, .marks = marks_, .node = node_, .client = client_, .link = this};
  const WirePtr wire = std::make_shared<Wire>(fresh);
  wire_ = wire;
  OnWire hello = [](QuorumNode& node, const WirePtr& at) {
    at->boot = node.boot();
    node.on_restart([at] { lose(at); });
    return std::any(true);
  };
  const Result<Answer> answer =
      co_await exchange(std::move(hello), Deadline::at(client_.now() + 3 * patience_));
  last_failed_ = !answer || wire_ != wire;
  if (last_failed_) {
    if (wire_ == wire) drop();
    not_before_ = client_.now() + client_.jitter(patience_ / 2, 0.5);
  } else {
    wire->open = true;
  }
  opening_ = false;
  opened_.set();
}

Task<Result<void>> SimLink::open(Deadline deadline) {
  if (connected()) co_return Result<void>();
  begin_to_open();
  if (opening_) static_cast<void>(co_await opened_.wait(deadline));
  if (connected()) co_return Result<void>();
  co_return Failure(Code::unreachable, "no connection to the simulated node");
}

}  // namespace holdfast::lab::sim
