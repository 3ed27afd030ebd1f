// Shared by the tests of examinations.
#pragma once

#include "lock_testing.h"

namespace holdfast::doctor_tests {

using namespace lock_testing;  // NOLINT(google-build-using-namespace): test code

// The finding with this id; one without an id if there is none.
inline Finding finding(const Examination& found, const std::string& id) {
  for (const Finding& each : found.findings) {
    if (each.id == id) return each;
  }
  return {};
}

}  // namespace holdfast::doctor_tests
