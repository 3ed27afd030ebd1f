// QuorumStage: the world of one schedule: its nodes and clients, the faults that befall them, and
// what is checked between any two steps.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "lab/sim/quorum_program.h"

namespace holdfast::lab::sim {

class QuorumStage final : public Stage {
 public:
  static constexpr Duration kTtl = std::chrono::seconds(1);
  static constexpr Duration kNodeTimeout = std::chrono::milliseconds(100);
  static constexpr Duration kFaultPhase = std::chrono::seconds(10);
  // After the healing: until what was under way has arrived, and what it left has ended.
  static constexpr Duration kSettling = std::chrono::seconds(8);
  static constexpr Duration kPatience = std::chrono::seconds(15);

  QuorumStage(const QuorumModel& the_model, const Order& order, QuorumMarks& the_marks);
  Outcome run();

  void find(Finding finding, const std::string& what);
  bool healed() const { return healed_; }
  bool settled() const { return healed_ && world.now() >= healed_at_ + kSettling; }
  void cancel_soon(std::stop_source source) { chaos_.spawn(cancel(std::move(source))); }

  const QuorumModel& model;
  QuorumMarks& marks;
  std::vector<std::unique_ptr<QuorumNode>> nodes;
  QuorumChecker checker;
  bool sharing = false;
  Duration request_timeout = std::chrono::seconds(1);
  Duration silence = kTtl;  // of nodes that rejoin

 private:
  void draw_faults();
  void draw_network(std::string& given);
  void draw_clocks(std::string& given);
  Task<void> inject();
  void strike_client(QuorumProgram& victim);
  void strike_node(QuorumNode& victim);
  void strike_clock(QuorumNode& victim);
  void strike_data(QuorumNode& victim);
  void strike_rack();
  bool may_be_wiped(const QuorumNode& victim) const;
  void wipe(QuorumNode& victim);
  Task<void> wipe_soon(QuorumNode& victim);
  Task<void> cut_off(QuorumProgram& victim, Duration span);
  Task<void> cut_off_at(QuorumProgram& victim, std::size_t node, Duration span);
  Task<void> cancel(std::stop_source source);
  void heal();
  void check_beliefs();
  void check_nothing_is_left();

  bool over_ = false;  // Found what leaves nothing to look for.
  internal::SimRuntime chaos_node_;
  TaskGroup chaos_;
  std::vector<std::unique_ptr<QuorumProgram>> programs_;
  bool data_was_lost_ = false;
  bool sound_ = true;  // nothing happens that may break exclusion
  bool healed_ = false;
  BootTime healed_at_{};
};

}  // namespace holdfast::lab::sim
