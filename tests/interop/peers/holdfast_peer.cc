// holdfast_peer URL: Holdfast, driven by the lines that drive the other libraries' peers. Each line
// gets one line of answer; README.md has the list.
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "holdfast/holdfast.h"
#include "section.h"

namespace {

using holdfast::Client;
using holdfast::Lease;
using holdfast::LockOptions;
using holdfast::Result;

class Peer {
 public:
  explicit Peer(const std::string& url) : client_(Client::open(url).value()) {}

  std::string obey(std::istringstream line) {
    const std::string verb = word(line);
    if (verb == "acquire") return keep(mutex(line).acquire());
    if (verb == "try") return keep(mutex(line).try_acquire());
    if (verb == "shared") return keep(readers_and_writers(line).acquire_shared());
    if (verb == "try_shared") return keep(readers_and_writers(line).try_acquire_shared());
    if (verb == "write") return keep(readers_and_writers(line).acquire());
    if (verb == "try_write") return keep(readers_and_writers(line).try_acquire());
    if (verb == "permit") return keep(permit(line).acquire());
    if (verb == "release") return plain(lease_.release());
    if (verb == "renew") return plain(lease_.renew());
    if (verb == "sections") return sections(client_.mutex(word(line)), line);
    if (verb == "write_sections") return sections(client_.shared_mutex(word(line)), line);
    return "what?";
  }

 private:
  static std::string word(std::istringstream& line) {
    std::string text;
    line >> text;
    return text;
  }

  static LockOptions options(std::istringstream& line) {
    return {.ttl = std::chrono::milliseconds(std::stoll(word(line)))};
  }

  holdfast::Mutex mutex(std::istringstream& line) {
    const std::string name = word(line);
    return client_.mutex(name, options(line));
  }
  holdfast::SharedMutex readers_and_writers(std::istringstream& line) {
    const std::string name = word(line);
    return client_.shared_mutex(name, options(line));
  }
  holdfast::Semaphore permit(std::istringstream& line) {
    const std::string name = word(line);
    return client_.semaphore(name, 2, options(line));
  }

  std::string keep(Result<Lease> lease) {
    if (!lease) return code_name(lease.code());
    lease_ = std::move(lease).value();
    return "granted " + lease_.token().str();
  }

  static std::string plain(const Result<void>& result) {
    return result ? "ok" : code_name(result.code());
  }

  static std::string sections(holdfast::Mutex mutex, std::istringstream& line) {
    const holdfast::interop::Section section(word(line));
    const int count = std::stoi(word(line));
    section.await_go();
    int failures = 0;
    for (int i = 0; i < count; ++i) {
      Result<Lease> lease = mutex.acquire();
      if (lease) section.pass('h');
      if (!lease || !lease->release()) ++failures;
      // A client that polls finds the lock free only while none of us waits for it; one that never
      // pauses leaves it no chance, because our release hands the lock to the next of our queue.
      std::this_thread::sleep_for(std::chrono::microseconds(250) * (i % 4));
    }
    return "done " + std::to_string(failures);
  }

  Client client_;
  Lease lease_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 64;
  try {
    Peer peer(arguments[1]);
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << peer.obey(std::istringstream(line)) << std::endl;
    }
  } catch (const std::exception& error) {
    std::cout << "failed: " << error.what() << std::endl;
    return 1;
  }
}
