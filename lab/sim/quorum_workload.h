// QuorumWorkload: schedules on a quorum of nodes, long ones with the shipped lease and renewal on
// top, or short ones of the quorum engine alone.
#pragma once

#include "lab/sim/brief_schedule.h"
#include "lab/sim/quorum_schedule.h"
#include "lab/sim/workload.h"

namespace holdfast::lab::sim {

// MarksOf<…>: what counts; run(model, order, marks): the schedule.
template <class MarksOf, Outcome (*run_schedule)(const QuorumModel&, const Order&, MarksOf&)>
class QuorumWorkload final : public Workload {
 public:
  QuorumWorkload(const char* name, const char* summary, const QuorumModel& model,
                 std::vector<Expectation> expectations)
      : name_(name), summary_(summary), model_(model) {
    expectations_ = std::move(expectations);
  }
  const char* name() const override { return name_; }
  const char* summary() const override { return summary_; }
  FaultSet faults() const override { return MarksOf::faults_of_schedules(); }
  std::unique_ptr<Trial> start() const override { return std::make_unique<QuorumTrial>(model_); }

 private:
  class QuorumTrial final : public Trial {
   public:
    explicit QuorumTrial(const QuorumModel& model) : model_(model) {}
    Outcome run(const Order& order) override { return run_schedule(model_, order, marks_); }
    Marks marks() const override { return marks_.list(); }

   private:
    const QuorumModel& model_;
    MarksOf marks_;
  };

  const char* name_;
  const char* summary_;
  QuorumModel model_;
};

using LongQuorumWorkload = QuorumWorkload<QuorumMarks, run_quorum_schedule>;
using BriefQuorumWorkload = QuorumWorkload<BriefMarks, run_brief_schedule>;

}  // namespace holdfast::lab::sim
