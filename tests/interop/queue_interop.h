// Where other libraries' clients and ours stand in one queue: ZooKeeper's sequential nodes, or etcd's
// keys by their create revision.
//
// A server takes seconds to start and so does a JVM, so the tests of one process share both. Each
// test has a lock of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "child.h"
#include "holdfast/time.h"

namespace holdfast::interop {

struct QueuePeer {
  std::string name;  // as peers/start knows it
  enum class Engine { zookeeper, etcd } engine;
  char letter;  // in the section's log
  // Passes of one process in the contention test: as many as make some ten seconds.
  int passes;
  // While all contend each side gets at least one in so many of its passes: shows that they did.
  int share = 10;
  // Our readers count for it.
  bool sees_readers = true;
  // SIGSTOP stops the library itself, not only what drives it.
  bool can_be_stopped = true;
};

std::ostream& operator<<(std::ostream& out, const QueuePeer& peer);

class QueueInteropTest : public testing::Test {
 protected:
  // A waiter must have a lock that is set free by then: its holder's ttl is far longer.
  static constexpr Duration kSoon = std::chrono::seconds(10);
  static constexpr Duration kLongTtl = std::chrono::seconds(60);
  // One whose end a test can wait for. etcd's are whole seconds.
  static constexpr Duration kShortTtl = std::chrono::seconds(2);

  explicit QueueInteropTest(QueuePeer::Engine engine);
  void TearDown() override;

  // The `number`th process of that kind. It lives on after the test, for the next.
  contract::Child& shared(const std::string& kind, int number);
  // One that the test may kill.
  contract::Child fresh(const std::string& kind) const;

  std::string ask_for(const char* verb, Duration ttl) const {
    return contract::Child::command(verb, lock_, ttl);
  }
  const std::string& lock() const { return lock_; }
  // Waits until so many hold the lock or wait for it, as the server has it.
  void wait_for_queue_of(std::size_t count);

 private:
  QueuePeer::Engine engine_;
  std::string url_;
  std::string lock_;
};

std::uint64_t token_of(const std::string& granted);

}  // namespace holdfast::interop
