// Every wait has a net: a waiter that is not told looks for itself. The news of its turn is lost in
// silence, without FIN or RST, and it is in all the same, after half a ttl (15 s at most) and the
// time that it takes to notice a dead connection.
#include "behind.h"
#include "contract.h"

namespace holdfast::contract {
namespace {

using testing::IsEmpty;

constexpr Duration kTtl = 14s;
constexpr Duration kRequestTimeout = 1s;
// Half a ttl, jittered by a fifth, and up to three calls that are not answered. Less than a ttl: the end of
// a hold must not be what lets the waiter in.
constexpr Duration kBound = kTtl - 1s;

using Fault = std::function<void(Behind&)>;

// Returns a description of the failure; empty if the waiter was in within the bound.
std::string release_between(Behind& behind, const Fault& before, const Fault& after) {
  const LockOptions options{.ttl = kTtl};
  Client holder = Client::open(behind.direct_url()).value();
  Client waiter = open_hasty(behind.url(), {.request_timeout = kRequestTimeout});
  Result<Lease> held = holder.mutex("x", options).acquire();
  if (!held) return "not held: " + held.message();
  Pending waiting =
      in_thread([&] { return waiter.mutex("x", options).try_acquire_for(kTtl + kPatience); });
  pause_for(1s);  // It has nothing to ask any more, and waits to be told.
  before(behind);
  if (const Result<void> released = held->release(); !released) return released.message();
  after(behind);
  const BootTime since = BootClock::now();
  const Result<Lease> second = waiting.get();
  const Duration took = BootClock::now() - since;
  testing::Test::RecordProperty(behind.name(), std::to_string(took / 1ms));
  if (!second) return second.message();
  if (took <= kBound) return "";
  return "it took " + std::to_string(took / 1ms) + " ms";
}

std::map<std::string, std::string> on_all(const Fault& before, const Fault& after) {
  return on_all_behind([&](Behind& behind) { return release_between(behind, before, after); });
}

TEST(NetTest, AWaiterWhoseConnectionsDiedInSilenceIsInSoon) {
  const Fault cut = [](Behind& behind) { behind.each([](test::Proxy& proxy) { proxy.cut(); }); };
  EXPECT_THAT(on_all(cut, [](Behind&) {}), IsEmpty());
}

// The same, but for a while requests still reach the server, and only the answers are lost.
TEST(NetTest, AWaiterThatIsNotAnsweredAnyMoreIsInSoon) {
  const Fault deafen = [](Behind& behind) {
    behind.each(
        [](test::Proxy& proxy) { proxy.set(test::Direction::to_client, test::ProxyMode::drop); });
  };
  const Fault cut = [](Behind& behind) {
    pause_for(500ms);
    behind.each([](test::Proxy& proxy) {
      proxy.cut();
      proxy.set(test::Direction::to_client, test::ProxyMode::pass);
    });
  };
  EXPECT_THAT(on_all(deafen, cut), IsEmpty());
}

// A link that is silent for a while and then goes on delivers everything late, and nothing twice.
TEST(NetTest, AWaiterBehindALinkThatHealsIsInSoon) {
  const Fault freeze = [](Behind& behind) {
    behind.each([](test::Proxy& proxy) { proxy.set_both(test::ProxyMode::hold); });
  };
  const Fault heal = [](Behind& behind) {
    pause_for(3s);
    behind.each([](test::Proxy& proxy) { proxy.set_both(test::ProxyMode::pass); });
  };
  EXPECT_THAT(on_all(freeze, heal), IsEmpty());
}

}  // namespace
}  // namespace holdfast::contract
