// A unit test with the test kit: the code around a lock, without a server and without waiting.
#include <functional>
#include <iostream>

#include "holdfast/testing.h"

using namespace std::chrono_literals;

// The code under test: stops writing as soon as it is not the only writer any more.
int write_pages(holdfast::Client& client, const std::function<void()>& write_page) {
  auto lease = client.mutex("report").try_acquire_for(10s);
  if (!lease) return -1;
  int pages = 0;
  for (; pages < 3 && lease->held(); ++pages) write_page();
  return pages;
}

bool expect(const char* what, int expected, int found) {
  if (expected != found) std::cerr << what << ": " << found << ", not " << expected << '\n';
  return expected == found;
}

int main() {
  holdfast::TestWorld world;
  auto client = world.client();
  auto other = world.client();
  bool good = expect("all is well", 3, write_pages(client, [] {}));
  good &= expect("slow", 3, write_pages(client, [&] { world.advance(1h); }));
  good &= expect("lost", 1, write_pages(client, [&] { world.lose("report"); }));
  good &= expect("paused", 1, write_pages(client, [&] { world.pause(1h); }));
  {
    auto held = other.mutex("report").acquire();
    good &= expect("busy", -1, write_pages(client, [] {}));
  }
  world.server_down();
  good &= expect("server down", -1, write_pages(client, [] {}));
  return good ? 0 : 1;
}
