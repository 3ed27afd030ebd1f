// What the tests of examinations have in common.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "holdfast/holdfast.h"

namespace holdfast::doctor_tests {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using testing::HasSubstr;

inline Client open(const std::string& url) { return Client::open(url).value(); }

// "granted", or "misconfigured: why".
template <class T>
std::string told(const Result<T>& result) {
  return result ? "granted" : std::string(code_name(result.code())) + ": " + result.message();
}

// How one who tries to lock at `url` fares.
inline std::string try_at(const std::string& url, const LockOptions& options = {}) {
  Client client = open(url);
  return told(client.mutex("x", options).try_acquire());
}

// The finding with this id; one without an id if there is none.
inline Finding finding(const Examination& found, const std::string& id) {
  for (const Finding& each : found.findings) {
    if (each.id == id) return each;
  }
  return {};
}

}  // namespace holdfast::doctor_tests
