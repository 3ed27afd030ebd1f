// StoreStage: the world of one schedule on one server: the server and its clients, the faults that
// befall them, and what is looked for between any two steps.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "lab/sim/line_judge.h"
#include "lab/sim/registers.h"
#include "lab/sim/replica.h"
#include "lab/sim/stage.h"
#include "lab/sim/store_program.h"
#include "lab/sim/store_schedule.h"

namespace holdfast::lab::sim {

class StoreStage final : public Stage {
 public:
  StoreStage(const StoreModel& the_model, const Order& order, StoreMarks& the_marks);
  Outcome run();

  bool healed() const { return healed_; }
  std::uint64_t highest_token() const { return highest_token_; }
  void see_grant(Token token, std::uint64_t floor);

  const StoreModel& model;
  StoreMarks& marks;
  Registers registers;
  internal::SimRuntime server_node;
  SimServer server;
  PlainWord plain_word;

 private:
  static constexpr std::size_t kClients = 3;

  Duration fault_phase() const { return 12 * model.ttl; }
  Duration healed_phase() const { return 30 * model.ttl; }

  void draw_faults();
  void draw_network();
  void draw_clocks();
  Task<void> inject();
  void strike_client(StoreProgram& victim);
  void strike_server();
  Task<void> cut_off(StoreProgram& victim, Duration span, bool sends, bool hears);
  Task<void> fail_over(Duration cut_before);
  void mark_loss();
  void check_beliefs();
  bool all_finished() const;

  internal::SimRuntime replica_node_;
  std::unique_ptr<LockStore> store_;
  std::unique_ptr<Replica> replica_;
  LineJudge judge_;
  internal::SimRuntime chaos_node_;
  TaskGroup chaos_;
  std::vector<std::unique_ptr<StoreProgram>> programs_;
  std::set<std::uint64_t> tokens_;
  std::uint64_t highest_token_ = 0;
  bool healed_ = false;
};

}  // namespace holdfast::lab::sim
