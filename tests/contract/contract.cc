#include "contract.h"

#include <cstdlib>

namespace holdfast::contract {

namespace {

std::uint64_t choose_seed() {
  if (const char* given = std::getenv("HOLDFAST_SEED")) return std::strtoull(given, nullptr, 10);
  return std::random_device{}() % 1'000'000'000;
}

}  // namespace

bool eventually(const std::function<bool()>& condition, Duration patience) {
  const BootTime limit = BootClock::now() + patience;
  while (!condition()) {
    if (BootClock::now() >= limit) return false;
    pause_for(1ms);
  }
  return true;
}

Dice::Dice() : seed_(choose_seed()), engine_(seed_) {
  testing::Test::RecordProperty("seed", std::to_string(seed_));
}

Client ContractTest::open(ClientOptions options) const {
  return Client::open(url(), std::move(options)).value();
}

std::size_t ContractTest::waiters(Client& client, const Name& name) {
  return client.inspect(name).value().waiters.size();
}

std::size_t ContractTest::holders(Client& client, const Name& name) {
  return client.inspect(name).value().holders.size();
}

bool ContractTest::queue_reaches(Client& client, const Name& name, std::size_t count) const {
  if (!engine().shows_waiters) {
    pause_for(50ms);
    return true;
  }
  if (!eventually([&] { return waiters(client, name) == count; })) return false;
  if (engine().shows_waiters_early) pause_for(20ms);
  return true;
}

void ContractTest::expect_nothing_left(Client& client, const Name& name) {
  const LockInfo info = client.inspect(name).value();
  EXPECT_TRUE(info.holders.empty()) << "somebody holds " << name.display();
  EXPECT_TRUE(info.waiters.empty()) << "somebody waits for " << name.display();
  Result<Lease> lease = client.mutex(name).try_acquire();
  EXPECT_EQ(outcome_of(lease), "granted") << name.display() << " cannot be acquired";
}

std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const LockError& error) {
    return code_name(error.code());
  }
  return "nothing";
}

}  // namespace holdfast::contract
