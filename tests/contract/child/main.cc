// contract_child URL: a process with one client and at most one lease, driven by lines on stdin.
// Each line gets one line of answer. It ends with its input; a test may also kill or stop it.
//
//   acquire NAME TTL_MS           granted TOKEN | CODE        waits
//   try NAME TTL_MS               granted TOKEN | CODE        does not wait
//   shared NAME TTL_MS            granted TOKEN | CODE        waits, as a reader
//   permit NAME N TTL_MS          granted TOKEN | CODE        waits, for one of N
//   release | renew               ok | CODE
//   held                          yes | no
//   await-lost MS                 lost | still                waits for lost() at most so long
//   detach                        handle TEXT | CODE
//   adopt TEXT                    granted TOKEN | CODE
//   renew-handle TEXT | release-handle TEXT    ok | CODE
//   sections NAME FILE COUNT      done FAILURES               COUNT critical sections
//   storm NAME SEED               (none)                      random operations until killed
#include <chrono>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "critical_section.h"
#include "holdfast/holdfast.h"

namespace {

using holdfast::Client;
using holdfast::Handle;
using holdfast::Lease;
using holdfast::LockOptions;
using holdfast::LockRequest;
using holdfast::Result;

class Child {
 public:
  explicit Child(const std::string& url) : client_(Client::open(url).value()) {}

  std::string obey(std::istringstream line) {
    std::string verb;
    line >> verb;
    if (verb == "acquire") return keep(request(line).acquire());
    if (verb == "try") return keep(request(line).try_acquire());
    if (verb == "shared") return keep(shared(line).acquire());
    if (verb == "permit") return keep(permit(line).acquire());
    if (verb == "release") return plain(lease_.release());
    if (verb == "renew") return plain(lease_.renew());
    if (verb == "held") return lease_.held() ? "yes" : "no";
    if (verb == "await-lost") return await_lost(line);
    if (verb == "detach") return detach();
    if (verb == "adopt") return keep(client_.adopt(handle(line)));
    if (verb == "renew-handle") return plain(client_.renew(handle(line)));
    if (verb == "release-handle") return plain(client_.release(handle(line)));
    if (verb == "sections") return sections(line);
    if (verb == "storm") storm(line);
    return "what?";
  }

 private:
  static LockOptions options(std::istringstream& line) {
    std::int64_t ttl_ms = 0;
    line >> ttl_ms;
    return LockOptions{.ttl = std::chrono::milliseconds(ttl_ms)};
  }
  static std::string word(std::istringstream& line) {
    std::string text;
    line >> text;
    return text;
  }
  static Handle handle(std::istringstream& line) { return Handle::parse(word(line)).value(); }

  holdfast::Mutex request(std::istringstream& line) {
    const std::string name = word(line);
    return client_.mutex(name, options(line));
  }
  LockRequest shared(std::istringstream& line) {
    const std::string name = word(line);
    return client_.shared_mutex(name, options(line)).shared();
  }
  LockRequest permit(std::istringstream& line) {
    const std::string name = word(line);
    std::uint32_t permits = 0;
    line >> permits;
    return client_.semaphore(name, permits, options(line));
  }

  std::string keep(Result<Lease> lease) {
    if (!lease) return code_name(lease.code());
    lease_ = std::move(lease).value();
    return "granted " + lease_.token().str();
  }
  static std::string plain(const Result<void>& result) {
    return result ? "ok" : code_name(result.code());
  }

  std::string await_lost(std::istringstream& line) {
    std::int64_t limit_ms = 0;
    line >> limit_ms;
    const std::stop_token lost = lease_.lost();
    for (std::int64_t ms = 0; ms < limit_ms && !lost.stop_requested(); ++ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return lost.stop_requested() ? "lost" : "still";
  }

  std::string detach() {
    const Result<Handle> handle = lease_.detach();
    return handle ? "handle " + handle->text() : code_name(handle.code());
  }

  std::string sections(std::istringstream& line) {
    holdfast::Mutex mutex = client_.mutex(word(line));
    holdfast::contract::CriticalSection section(word(line));
    int count = 0;
    line >> count;
    while (section.state().go.load() == 0) std::this_thread::yield();
    int failures = 0;
    for (int i = 0; i < count; ++i) {
      Result<Lease> lease = mutex.acquire();
      if (lease) section.pass(lease->token().value());
      if (!lease || !lease->release()) ++failures;
    }
    return "done " + std::to_string(failures);
  }

  [[noreturn]] void storm(std::istringstream& line) {
    const std::string name = word(line);
    std::uint64_t seed = 0;
    line >> seed;
    std::mt19937_64 dice(seed);
    holdfast::SharedMutex mutex = client_.shared_mutex(name);
    for (;;) {
      const std::chrono::microseconds patience(dice() % 3000);
      Result<Lease> lease = dice() % 3 == 0   ? mutex.try_acquire_for(patience)
                            : dice() % 2 == 0 ? mutex.try_acquire_shared_for(patience)
                                              : mutex.acquire();
      if (lease && dice() % 2 == 0) std::this_thread::sleep_for(patience / 4);
    }
  }

  Client client_;
  Lease lease_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 64;
  try {
    Child child(arguments[1]);
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      std::string answer;
      try {
        answer = child.obey(std::istringstream(line));
      } catch (const holdfast::LockError& error) {
        answer = code_name(error.code());
      }
      std::cout << answer << std::endl;
    }
  } catch (const std::exception& error) {
    std::cout << "failed: " << error.what() << std::endl;
    return 1;
  }
}
