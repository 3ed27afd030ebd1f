// Every wait has a net: a waiter that is not told looks for itself. The news of its turn is lost in
// silence, without FIN or RST, and it is in all the same, after half a ttl (15 s at most) and the
// time that it takes to notice a dead connection.
//
// All engines are in one test, side by side, because each of them does nothing but wait.
#include <algorithm>
#include <array>
#include <map>
#include <regex>

#include "contract.h"
#include "proxy.h"

namespace holdfast::contract {
namespace {

constexpr Duration kTtl = 14s;
constexpr Duration kRequestTimeout = 1s;
// Half a ttl, jittered by a fifth, and up to three calls that are not answered. Less than a ttl: the end of
// a hold must not be what lets the waiter in.
constexpr Duration kBound = kTtl - 1s;

// Without those whose servers themselves tell a client their addresses (sentinels, cluster), without
// the embedded engine, and without second instances of one kind.
constexpr std::array kNames{"redis",     "redlock_3",        "etcd",         "zookeeper",
                            "memcached", "quorum_memcached", "mysql_table",  "mysql_named",
                            "mysql_row", "postgres_table",   "postgres_row", "postgres_advisory"};

// An engine with a proxy in front of each of its servers.
class Behind {
 public:
  explicit Behind(const EngineUnderTest& engine) : name_(engine.name), place_(engine.start()) {
    const std::regex address(R"(127\.0\.0\.1:(\d+))");
    const std::string url = place_->url();
    auto rest = url.begin();
    for (std::sregex_iterator each(url.begin(), url.end(), address), end; each != end; ++each) {
      proxies_.push_back(std::make_unique<test::Proxy>(std::stoi((*each)[1])));
      url_.append(rest, (*each)[0].first);
      url_.append("127.0.0.1:" + std::to_string(proxies_.back()->port()));
      rest = (*each)[0].second;
    }
    url_.append(rest, url.end());
  }

  const std::string& name() const { return name_; }
  std::string direct_url() const { return place_->url(); }
  const std::string& url() const { return url_; }
  void each(const std::function<void(test::Proxy&)>& fault) {
    for (const auto& proxy : proxies_) fault(*proxy);
  }

 private:
  std::string name_;
  std::unique_ptr<Place> place_;
  std::vector<std::unique_ptr<test::Proxy>> proxies_;
  std::string url_;
};

using Fault = std::function<void(Behind&)>;

// What happened; empty if the waiter was in within the bound.
std::string release_behind(Behind& behind, const Fault& before, const Fault& after) {
  const LockOptions options{.ttl = kTtl};
  Client holder = Client::open(behind.direct_url()).value();
  Client waiter =
      Client::open(behind.url(), ClientOptions{.request_timeout = kRequestTimeout}).value();
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

// On all engines at the same time: what went wrong, by engine.
std::map<std::string, std::string> on_all(const Fault& before, const Fault& after) {
  std::vector<std::unique_ptr<Behind>> all;
  for (const EngineUnderTest& engine : engines_under_test()) {
    if (std::find(kNames.begin(), kNames.end(), engine.name) == kNames.end()) continue;
    all.push_back(std::make_unique<Behind>(engine));
  }
  std::vector<std::future<std::string>> outcomes;
  for (const auto& behind : all) {
    outcomes.push_back(std::async(std::launch::async, [&, place = behind.get()] {
      return release_behind(*place, before, after);
    }));
  }
  std::map<std::string, std::string> wrong;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string outcome = outcomes[i].get();
    if (!outcome.empty()) wrong[all[i]->name()] = outcome;
  }
  return wrong;
}

using testing::IsEmpty;

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
  const auto mode = [](test::ProxyMode mode) {
    return [mode](Behind& behind) {
      behind.each([mode](test::Proxy& proxy) { proxy.set_both(mode); });
    };
  };
  const Fault heal = [&mode](Behind& behind) {
    pause_for(3s);
    mode(test::ProxyMode::pass)(behind);
  };
  EXPECT_THAT(on_all(mode(test::ProxyMode::hold), heal), IsEmpty());
}

}  // namespace
}  // namespace holdfast::contract
