// Shared by the cases: a client on a file of its own, and a loop that runs on a thread of its own.
//
// Included once per Asio, by a file that has named it: NET, NET_VERSION, SUITE, BRIDGE.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"
#include "holdfast/holdfast.h"
#include "temp_dir.h"

namespace holdfast::BRIDGE::test {

namespace net = ::NET;
using namespace std::chrono_literals;
using BRIDGE::initiate;
using contract::arrives;
using contract::eventually;
using contract::is_ready;
using contract::outcome_of;

class Fixture : public testing::Test {
 protected:
  Client open() { return Client::open(url()).value(); }
  std::string url() const { return "sqlite://" + (directory_.path() / "locks.db").string(); }

  std::size_t waiters(const Name& name) { return other.inspect(name).value().waiters.size(); }
  std::size_t holders(const Name& name) { return other.inspect(name).value().holders.size(); }
  bool waits(const Name& name) {
    return eventually([&] { return waiters(name) == 1; });
  }
  bool nothing_left(const Name& name) {
    return eventually([&] { return waiters(name) == 0 && holders(name) == 0; });
  }

  holdfast::test::TempDir directory_;
  Client client = open();
  Client other = open();  // looks, and is in the way
  Mutex mutex = client.mutex("x");
};

// An io_context that runs on a thread until it has nothing to do.
class Running {
 public:
  explicit Running(net::io_context& context)
      : guard_(context.get_executor()), thread_([&context] { context.run(); }) {}
  ~Running() { join(); }
  void join() {
    guard_.reset();
    if (thread_.joinable()) thread_.join();
  }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  net::executor_work_guard<net::io_context::executor_type> guard_;
  std::thread thread_;
};

}  // namespace holdfast::BRIDGE::test
