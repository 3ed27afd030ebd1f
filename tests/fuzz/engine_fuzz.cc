// The whole Redis engine against a server that says anything: cluster maps, redirections,
// sentinels' answers, pushes. On the simulated runtime, so seconds of waiting cost nothing and a
// call that does not end is seen. The first byte of an input chooses the layout, the second the
// call; the rest is what the server says (played_server.h).
#include "engines/redis/redis_engine.h"
#include "fuzz.h"
#include "lab/sim/sim_runtime.h"
#include "played_server.h"

namespace {

using namespace holdfast;              // NOLINT(google-build-using-namespace): a small program
using namespace holdfast::internal;    // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using fuzz::must;

constexpr const char* kUrls[] = {"redis://h", "redis+sentinel://s1,s2/master",
                                 "redis+cluster://c1,c2", "redis://h?wait_replicas=1"};

Task<void> talk(Engine& engine, Runtime& runtime, unsigned call) {
  const BootTime begin = runtime.now();
  const Deadline deadline = Deadline::at(begin + 2s);
  Claim claim{.name = "a{b}c", .ttl = 10s, .label = "fuzz"};
  const std::vector<Hold> holds{{claim, Token(7)}, {claim, Token(8)}};
  switch (call % 6) {
    case 0:
    case 1: {
      const Wait wait{.deadline = deadline, .queue = call % 6 == 1};
      const Result<Grant> grant = co_await engine.acquire(claim, wait);
      if (!grant) break;
      must(grant->token.value() > 0, "a grant has a token");
      must(grant->counted_from >= begin && grant->counted_from <= runtime.now(),
           "a grant counts from a moment within the call");
      break;
    }
    case 2: {
      const auto renewed = co_await engine.renew(holds, deadline);
      must(renewed.size() == holds.size(), "one outcome for each hold");
      break;
    }
    case 3: static_cast<void>(co_await engine.inspect(claim.name, deadline)); break;
    case 4: static_cast<void>(co_await engine.list("", deadline)); break;
    default: static_cast<void>(co_await engine.evict(claim.name, Token(7), deadline)); break;
  }
  const Result<bool> released = co_await engine.release(claim, deadline);
  static_cast<void>(released);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  SimWorld world(1);
  SimRuntime runtime(world);
  fuzz::PlayedServer server(runtime, fuzz::text_of(data + 2, size - 2));
  const Result<Url> url = Url::parse(kUrls[data[0] % std::size(kUrls)]);
  ClientOptions options;
  options.request_timeout = 1s;
  const std::unique_ptr<Engine> engine = open_redis_engine(*url, runtime, options).value();
  TaskGroup tasks(runtime);
  tasks.spawn(talk(*engine, runtime, data[1]));
  const bool ended = world.run([&] { return tasks.size() == 0; }, world.now() + 60s);
  must(ended, "every call ends, about at its deadline");
  tasks.spawn(engine->close());
  world.run([&] { return tasks.size() == 0; }, world.now() + 1s);
  return 0;
}
