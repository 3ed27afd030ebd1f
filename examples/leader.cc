// A leader-elected worker: one of several works, and hands over when it resigns, dies or is cut off.
#include <iostream>
#include <thread>

#include "holdfast/holdfast.h"

using namespace std::chrono_literals;

// Work that stops when the term is lost. The token goes to whatever is written to: see fence.h.
bool lead(const std::string& name, const holdfast::Lease& term) {
  std::cout << name + " leads, term " + to_string(term.token()) + "\n";
  for (int step = 0; step < 3; ++step) {
    if (term.lost().stop_requested()) return false;
    std::this_thread::sleep_for(5ms);
  }
  return term.held();
}

void work(const std::string& name, int& led) {
  auto client = holdfast::Client::open().value();
  auto election = client.election("scheduler", {.ttl = 10s});
  auto term = election.campaign(name);  // waits until it is our turn
  if (!term) {
    std::cerr << term.message() + "\n";
  } else if (lead(name, *term) && term->release()) {
    led = 1;
  }
}

int main() {
  int first = 0;
  int second = 0;
  std::thread other([&] { work("worker 2", second); });
  work("worker 1", first);
  other.join();
  return first + second == 2 ? 0 : 1;
}
