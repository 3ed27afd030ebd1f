// StoreWorkload: schedules on one server.
#pragma once

#include "lab/sim/store_schedule.h"
#include "lab/sim/workload.h"

namespace holdfast::lab::sim {

class StoreWorkload final : public Workload {
 public:
  StoreWorkload(const char* name, const char* summary, const StoreModel& model,
                std::vector<Expectation> expectations)
      : name_(name), summary_(summary), model_(model) {
    expectations_ = std::move(expectations);
  }
  const char* name() const override { return name_; }
  const char* summary() const override { return summary_; }
  FaultSet faults() const override { return model_.faults; }
  std::unique_ptr<Trial> start() const override { return std::make_unique<StoreTrial>(model_); }

 private:
  class StoreTrial final : public Trial {
   public:
    explicit StoreTrial(const StoreModel& model) : model_(model) {}
    Outcome run(const Order& order) override { return run_store_schedule(model_, order, marks_); }
    Marks marks() const override { return marks_.list(model_); }

   private:
    const StoreModel& model_;
    StoreMarks marks_;
  };

  const char* name_;
  const char* summary_;
  StoreModel model_;
};

// The servers of the field.
StoreModel ideal_store();
StoreModel redis_store();
StoreModel redis_amnesia_store();
StoreModel redis_replica_store();
StoreModel memcached_store();
StoreModel session_store();
StoreModel sql_store();

// Whatever no lock can prevent: a holder that is paused after its last look writes all the same.
std::vector<Expectation> unfenced_harm();

}  // namespace holdfast::lab::sim
