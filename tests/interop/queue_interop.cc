#include "queue_interop.h"

#include <cstdlib>
#include <ostream>
#include <stdexcept>
#include <thread>

#include "etcd_server.h"
#include "zookeeper_server.h"

namespace holdfast::interop {

namespace {

using Engine = QueuePeer::Engine;
using contract::Child;

// Started when they are first needed.
std::string server_url(Engine engine) {
  if (engine == Engine::zookeeper) {
    static const test::ZooKeeperServer server;
    return server.url();
  }
  static const test::EtcdServer server;
  return server.url();
}

std::map<std::pair<std::string, int>, Child>& children() {
  static std::map<std::pair<std::string, int>, Child> all;
  return all;
}

// Tells how long a queue is, without our engines: any client that starts quickly will do.
const char* observer(Engine engine) { return engine == Engine::zookeeper ? "kazoo" : "etcd-go"; }
constexpr int kObserver = 100;

}  // namespace

std::ostream& operator<<(std::ostream& out, const QueuePeer& peer) { return out << peer.name; }

QueueInteropTest::QueueInteropTest(Engine engine) : engine_(engine), url_(server_url(engine)) {
  static int locks = 0;
  lock_ = "lock-" + std::to_string(++locks);
}

// The remains of a failed test must not disturb the next.
void QueueInteropTest::TearDown() {
  if (HasFailure()) children().clear();
}

Child& QueueInteropTest::shared(const std::string& kind, int number) {
  auto found = children().find({kind, number});
  if (found == children().end()) {
    found = children().emplace(std::pair(kind, number), fresh(kind)).first;
  }
  return found->second;
}

Child QueueInteropTest::fresh(const std::string& kind) const { return Child(kind + "+" + url_); }

void QueueInteropTest::wait_for_queue_of(std::size_t count) {
  Child& child = shared(observer(engine_), kObserver);
  const BootTime end = BootClock::now() + kSoon;
  std::string seen;
  while (BootClock::now() < end) {
    seen = child.ask("queue " + lock_);
    if (seen == std::to_string(count)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error("the queue has " + seen + ", not " + std::to_string(count));
}

std::uint64_t token_of(const std::string& granted) {
  return std::strtoull(granted.substr(granted.find(' ') + 1).c_str(), nullptr, 10);
}

}  // namespace holdfast::interop
