// What the MySQL tests have in common: a server, clients, impatience, and what must be left behind:
// nothing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"
#include "holdfast/holdfast.h"
#include "mariadb_server.h"
#include "proxy.h"

namespace holdfast::mysql_tests {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::arrives;
using contract::eventually;
using contract::in_thread;
using contract::outcome_of;
using contract::pause_for;
using contract::Pending;
using test::MariadbClient;
using test::MariadbServer;
using test::Proxy;
using testing::HasSubstr;
using testing::StartsWith;

// "granted", or "misconfigured: why".
template <class T>
std::string told(const Result<T>& result) {
  return result ? "granted" : std::string(code_name(result.code())) + ": " + result.message();
}

class MysqlTest : public testing::Test {
 protected:
  // One for all tests that leave it as they found it.
  static MariadbServer& server() {
    static MariadbServer shared;
    return shared;
  }
};

}  // namespace holdfast::mysql_tests
