// The runs of the model checker by name: the protocol within bounds, and mistakes it must refute.
#ifndef HOLDFAST_TESTS_MODEL_RUNS_H_
#define HOLDFAST_TESTS_MODEL_RUNS_H_

#include <string>
#include <string_view>
#include <vector>

#include "config.h"

namespace holdfast::model {

struct Run {
  std::string_view name;
  std::string_view what;  // one line for people
  Config config;
  std::string_view breaks;  // how the violation it must find begins; empty: it must find none
  bool deep = false;        // takes minutes or gigabytes: by hand only
};

const std::vector<Run>& runs();

}  // namespace holdfast::model

#endif  // HOLDFAST_TESTS_MODEL_RUNS_H_
