// StoreStage: the world of one schedule on one server: the server and its clients, the faults that
// befall them, and what is looked for between any two steps.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/line_judge.h"
#include "lab/sim/replica.h"
#include "lab/sim/store_program.h"
#include "lab/sim/store_schedule.h"

namespace holdfast::lab::sim {

class StoreStage {
 public:
  StoreStage(const StoreModel& the_model, const Order& order, StoreMarks& the_marks);
  Outcome run();

  void find(Finding finding, const std::string& what);
  void note(const std::string& what);
  bool keeps_history() const { return order_.keep_history; }
  bool healed() const { return healed_; }

  // What the clients draw, apart from the faults.
  double uniform() { return static_cast<double>(world.random().next() >> 11) * 0x1.0p-53; }
  bool happens(double probability) { return uniform() < probability; }
  Duration up_to(Duration longest) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(longest.count()) * uniform()));
  }

  std::uint64_t highest_token() const { return highest_token_; }
  void see_grant(Token token, std::uint64_t floor);

  // One read, and the write that belongs to it, by a holder on all registers.
  struct Reads {
    ProtectedRegister::Read bare, write_fenced, fenced;
  };
  Reads read(Token token);
  void write(const StoreProgram& who, Token token, const Reads& reads);

  const StoreModel& model;
  StoreMarks& marks;
  internal::SimWorld world;
  SimNetwork network;
  internal::SimRuntime server_node;
  SimServer server;
  PlainWord plain_word;

 private:
  static constexpr std::size_t kClients = 3;

  Duration fault_phase() const { return 12 * model.ttl; }
  Duration healed_phase() const { return 30 * model.ttl; }

  // Whether such a fault is due now, and happens.
  bool strike(FaultKind kind, double probability);
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

  const Order& order_;
  Outcome outcome_;
  Selection all_;
  Decisions decisions_;
  FaultSet enabled_;
  internal::SimRuntime replica_node_;
  std::unique_ptr<LockStore> store_;
  std::unique_ptr<Replica> replica_;
  LineJudge judge_;
  internal::SimRuntime chaos_node_;
  TaskGroup chaos_;
  std::vector<std::unique_ptr<StoreProgram>> programs_;
  ProtectedRegister bare_{Fencing::none};
  ProtectedRegister write_fenced_{Fencing::writes};
  ProtectedRegister fenced_;
  std::set<std::uint64_t> tokens_;
  std::uint64_t highest_token_ = 0;
  bool overlapping_ = false;
  bool healed_ = false;
};

}  // namespace holdfast::lab::sim
