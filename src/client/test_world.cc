#include <atomic>
#include <optional>
#include <utility>

#include "base/manual_runtime.h"
#include "client/client_core.h"
#include "engines/memory/memory_engine.h"
#include "engines/memory/memory_server.h"
#include "holdfast/testing.h"

namespace holdfast {

using internal::Locker;
using internal::ManualRuntime;
using internal::MemoryRequest;
using internal::MemoryServer;

struct TestWorld::Core {
  // The end of a server_down_for().
  class Repair final : public Timer {
   public:
    explicit Repair(Core& core) : core_(core) {}
    void on_time() override { core_.server->set_down(false); }

   private:
    Core& core_;
  };

  // Lets what follows happen.
  void settle() { runtime.advance(Duration::zero()); }
  void lose(const Name& name, std::optional<Token> token) {
    runtime.refuse_inside("lose()");
    const bool taken = server->take_away(name, token, runtime.now());
    settle();
    if (taken) return;
    throw LockError(Failure(
        Code::not_held, "'" + name.display() + "' is not held in this way, so it cannot be lost"));
  }
  void set_down(bool down, std::optional<Duration> span = {}) {
    runtime.refuse_inside("this call");
    {
      const ManualRuntime::Inside inside(runtime);
      runtime.disarm(repair);
      server->set_down(down);
      if (span) runtime.arm(repair, runtime.now() + *span);
    }
    settle();
  }

  ManualRuntime runtime;
  const std::shared_ptr<MemoryServer> server = std::make_shared<MemoryServer>();
  Repair repair{*this};
  std::atomic<int> clients = 0;
};

namespace {

// A locker and what it stands on.
template <class World>
struct WorldClient {
  explicit WorldClient(std::shared_ptr<World> the_world)
      : world(std::move(the_world)), runtime(world->runtime) {}

  std::shared_ptr<World> world;
  ManualRuntime& runtime;
  std::unique_ptr<Locker> locker;
};

MemoryRequest to_memory(TestWorld::Request kind) {
  switch (kind) {
    case TestWorld::Request::acquire: return MemoryRequest::acquire;
    case TestWorld::Request::renew: return MemoryRequest::renew;
    case TestWorld::Request::release: return MemoryRequest::release;
    case TestWorld::Request::record: return MemoryRequest::record;
    case TestWorld::Request::other: break;
  }
  return MemoryRequest::other;
}

}  // namespace

// A forked child has none of its threads, and leaves it all.
TestWorld::TestWorld()
    : core_(new Core, [](Core* core) {
        if (!core->runtime.forked()) delete core;
      }) {
  const ManualRuntime::Inside its_maker_is_a_user(core_->runtime);
}

TestWorld::~TestWorld() = default;

Client TestWorld::client(ClientOptions options) {
  core_->runtime.refuse_inside("client()");
  if (options.label.empty()) options.label = "client " + std::to_string(++core_->clients);
  auto client = std::make_unique<WorldClient<Core>>(core_);
  {
    const ManualRuntime::Inside inside(client->runtime);
    client->locker = std::make_unique<Locker>(
        client->runtime, client->runtime,
        internal::make_memory_engine(core_->server, client->runtime), std::move(options));
  }
  return Client(internal::share_locker(std::move(client)));
}

BootTime TestWorld::now() const { return core_->runtime.now(); }
void TestWorld::advance(Duration span) { core_->runtime.advance(span); }
void TestWorld::pause(Duration span) { core_->runtime.jump(span); }
void TestWorld::hold_clock(bool held) { core_->runtime.hold_clock(held); }
void TestWorld::await_waiting(std::size_t calls) { core_->runtime.await_waiting(calls); }

void TestWorld::lose(const Name& name) { core_->lose(name, std::nullopt); }
void TestWorld::lose(const Lease& lease) { core_->lose(lease.name(), lease.token()); }

void TestWorld::server_down() { core_->set_down(true); }
void TestWorld::server_down_for(Duration span) { core_->set_down(true, span); }
void TestWorld::server_up() { core_->set_down(false); }

void TestWorld::lose_request(Request kind) { core_->server->lose_request(to_memory(kind)); }
void TestWorld::lose_reply(Request kind) { core_->server->lose_reply(to_memory(kind)); }

}  // namespace holdfast
