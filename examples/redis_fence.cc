// Data in Redis behind a fence, guarded by a lock in the same Redis: run it as
//   example_redis_fence redis://127.0.0.1:6379
// Without an argument it says so, and does nothing.
#include <iostream>
#include <string>

#include "holdfast/holdfast.h"

namespace {

// Adds 1 to a number under a lock. The lock must not have the name of the data.
holdfast::Result<int> add_one(holdfast::Client& client, holdfast::RedisFence& fence) {
  auto lease = client.mutex("example:counter.lock").acquire();
  if (!lease) return lease.failure();
  const auto before = fence.get("example:counter", *lease);  // raises the mark
  if (!before) return before.failure();
  const int number = std::stoi(before->value_or("0")) + 1;
  const auto written = fence.set("example:counter", *lease, std::to_string(number));
  if (!written) return written.failure();
  return number;
}

int run(const std::string& url) {
  auto client = holdfast::Client::open(url);
  auto fence = holdfast::RedisFence::open(url);
  if (!client || !fence) {
    std::cerr << (client ? fence.message() : client.message()) << '\n';
    return 1;
  }
  const auto number = add_one(*client, *fence);
  if (!number) {
    std::cerr << number.message() << '\n';
    return 1;
  }
  std::cout << "the counter is " << *number << '\n';

  // A worker that slept through the end of its lease comes with an old token.
  const auto mark = fence->mark("example:counter");
  if (!mark) return 1;
  const auto late = fence->set("example:counter", holdfast::Token(mark->value() - 1), "0");
  std::cout << "an old token: " << (late ? "written" : late.message()) << '\n';
  return !late && late.code() == holdfast::Code::stale_token ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return run(argv[1]);
  std::cout << "usage: " << argv[0] << " redis://HOST[:PORT]\n";
  return 0;
}
