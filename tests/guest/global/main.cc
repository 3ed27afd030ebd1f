// A client that is a global object: opened before main(), and closed after it. HOLDFAST_TEST_URL names
// the store. With HOLDFAST_TEST_LATE the lock is taken in main(), and released after it: then all that
// the library makes when it is first used is younger than the client.
//
// Prints "granted" and "released", and ends with status 0, if all goes well.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "holdfast/holdfast.h"

namespace {

class Holder {
 public:
  Holder() : client_(holdfast::Client::open(std::getenv("HOLDFAST_TEST_URL")).value()) {
    alarm(60);  // A program that hangs is a finding, not a test that hangs.
    if (!std::getenv("HOLDFAST_TEST_LATE")) take();
  }
  ~Holder() {
    const holdfast::Result<void> released = lease_->release();
    std::puts(released ? "released" : released.message().c_str());
    std::fflush(stdout);
    if (!released) _exit(1);
  }
  void take() {
    auto lease = client_.mutex("global").try_acquire_for(std::chrono::seconds(30));
    std::puts(lease ? "granted" : lease.message().c_str());
    std::fflush(stdout);
    if (!lease) _exit(1);
    lease_ = std::move(lease).value();
  }

 private:
  holdfast::Client client_;
  std::optional<holdfast::Lease> lease_;
};

Holder holder;

}  // namespace

int main() {
  if (std::getenv("HOLDFAST_TEST_LATE")) holder.take();
}
