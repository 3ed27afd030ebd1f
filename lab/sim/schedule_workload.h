// ScheduleWorkload: seeded schedules of one model, on a stage of its kind: one server, or a quorum of nodes with
// the shipped lease and renewal on top, or short ones of the quorum engine alone.
#pragma once

#include "lab/sim/brief_schedule.h"
#include "lab/sim/quorum_schedule.h"
#include "lab/sim/store_schedule.h"
#include "lab/sim/workload.h"

namespace holdfast::lab::sim {

// MarksOf: the counters, with list(model) and faults_of(model); run_schedule: one schedule.
template <class Model, class MarksOf, Outcome (*run_schedule)(const Model&, const Order&, MarksOf&)>
class ScheduleWorkload final : public Workload {
 public:
  ScheduleWorkload(const char* name, const char* summary, const Model& model,
                   std::vector<Expectation> expectations)
      : name_(name), summary_(summary), model_(model) {
    expectations_ = std::move(expectations);
  }
  const char* name() const override { return name_; }
  const char* summary() const override { return summary_; }
  FaultSet faults() const override { return MarksOf::faults_of(model_); }
  std::unique_ptr<Trial> start() const override { return std::make_unique<ScheduleTrial>(model_); }

 private:
  class ScheduleTrial final : public Trial {
   public:
    explicit ScheduleTrial(const Model& model) : model_(model) {}
    Outcome run(const Order& order) override { return run_schedule(model_, order, marks_); }
    Marks marks() const override { return marks_.list(model_); }

   private:
    const Model& model_;
    MarksOf marks_;
  };

  const char* name_;
  const char* summary_;
  Model model_;
};

using StoreWorkload = ScheduleWorkload<StoreModel, StoreMarks, run_store_schedule>;
using LongQuorumWorkload = ScheduleWorkload<QuorumModel, QuorumMarks, run_quorum_schedule>;
using BriefQuorumWorkload = ScheduleWorkload<QuorumModel, BriefMarks, run_brief_schedule>;

// The servers of the field.
StoreModel ideal_store();
StoreModel redis_store();
StoreModel redis_amnesia_store();
StoreModel redis_replica_store();
StoreModel memcached_store();
StoreModel session_store();
StoreModel sql_store();

// No lock can prevent these: a holder that is paused after its last look writes all the same.
std::vector<Expectation> unfenced_harm();

}  // namespace holdfast::lab::sim
