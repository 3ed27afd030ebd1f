// Nothing that a client holds in a server outlives its silence by more than a stated bound (docs/BOUNDS.md). A
// client is cut off for good, without FIN or RST, and somebody else waits for what it had.
#include "behind.h"
#include "contract.h"

namespace holdfast::contract {
namespace {

using testing::IsEmpty;

constexpr Duration kTtl = 3s;
// A session of ZooKeeper's lasts 1.5 ttl; memcached's items up to two seconds longer; Redis keeps what it hands to
// somebody who is silent for up to five seconds. The rest is for a busy machine.
constexpr Duration kBound = 5s + 6s;

// From now on nothing gets through in either direction, nor does anybody connect.
void isolate(Behind& behind) {
  behind.each([](test::Proxy& proxy) {
    proxy.refuse(true);
    proxy.cut();
  });
}

// How long the claim behind the silent one had to wait.
std::string time_of(Behind& behind, Pending& waiting, BootTime since) {
  const Result<Lease> lease = waiting.get();
  const Duration took = BootClock::now() - since;
  testing::Test::RecordProperty(behind.name(), std::to_string(took / 1ms));
  if (!lease) return lease.message();
  if (took <= kBound) return "";
  return "it took " + std::to_string(took / 1ms) + " ms";
}

const LockOptions kOptions{.ttl = kTtl};
const ClientOptions kHasty{.request_timeout = 1s, .release_timeout = 100ms};

std::string silence_the_holder(Behind& behind) {
  Client silent = open_hasty(behind.url(), kHasty);
  Client next = Client::open(behind.direct_url()).value();
  Result<Lease> held = silent.mutex("x", kOptions).acquire();
  if (!held) return "not held: " + held.message();
  Pending waiting =
      in_thread([&] { return next.mutex("x", kOptions).try_acquire_for(kBound + kPatience); });
  pause_for(500ms);
  isolate(behind);
  const BootTime since = BootClock::now();
  std::string outcome = time_of(behind, waiting, since);
  if (!held->lost().stop_requested()) outcome += " and the silent holder was not told";
  return outcome;
}

std::string silence_a_waiter(Behind& behind) {
  Client holder = Client::open(behind.direct_url()).value();
  Client silent = open_hasty(behind.url(), kHasty);
  Client next = Client::open(behind.direct_url()).value();
  Result<Lease> held = holder.mutex("x", kOptions).acquire();
  if (!held) return "not held: " + held.message();
  std::stop_source stop;
  Pending first = in_thread([&] { return silent.mutex("x", kOptions).acquire(stop.get_token()); });
  pause_for(500ms);
  Pending second =
      in_thread([&] { return next.mutex("x", kOptions).try_acquire_for(kBound + kPatience); });
  pause_for(500ms);
  isolate(behind);
  static_cast<void>(held->release());
  const BootTime since = BootClock::now();
  std::string outcome = time_of(behind, second, since);
  stop.request_stop();
  first.wait();
  return outcome;
}

TEST(BoundsTest, ASilentHolderKeepsOthersOutForAStatedTime) {
  EXPECT_THAT(on_all_behind(silence_the_holder), IsEmpty());
}

TEST(BoundsTest, ASilentWaiterKeepsThoseBehindItForAStatedTime) {
  EXPECT_THAT(on_all_behind(silence_a_waiter), IsEmpty());
}

}  // namespace
}  // namespace holdfast::contract
