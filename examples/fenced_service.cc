// A service of your own behind a fence: a ledger that several workers reach, each with the ticket of
// its lease: token and mode. The worker that was paused too long is refused, and nothing is lost;
// readers of a shared lock do not disturb each other.
//
// Here the leases are played, so that the pause happens every time; in a program of yours a lease
// is a ticket, and over the network you send its token() and mode().
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "holdfast/fence.h"

namespace {

class Ledger {
 public:
  explicit Ledger(const std::filesystem::path& directory)
      : file_(directory / "ledger.txt"),
        gate_(holdfast::FenceGate::in_file(directory / "ledger.fence").value()) {}

  // Reads show their ticket too: from here on, no older holder can write.
  holdfast::Result<int> balance(const holdfast::Ticket& ticket) {
    auto pass = gate_.enter(ticket);
    if (!pass) return pass.failure();
    return load();
  }

  holdfast::Result<void> set_balance(holdfast::Token token, int balance) {
    auto pass = gate_.enter(token);  // nobody else is inside until `pass` ends
    if (!pass) return pass.failure();
    std::ofstream(file_) << balance << '\n';
    return {};
  }

 private:
  int load() const {
    int balance = 0;
    std::ifstream(file_) >> balance;
    return balance;
  }

  std::filesystem::path file_;
  holdfast::FenceGate gate_;
};

// C and D have the shared lock at the same time, E has it exclusively after them.
int read_together(Ledger& ledger) {
  const holdfast::Ticket c(holdfast::Token(35), holdfast::Mode::shared);
  const holdfast::Ticket d(holdfast::Token(36), holdfast::Mode::shared);
  const bool together = ledger.balance(d) && ledger.balance(c) && ledger.balance(d);
  const auto written_by_e = ledger.set_balance(holdfast::Token(37), 20);
  const auto late = ledger.balance(c);
  std::cout << "C and D: " << (together ? "read" : "refused") << '\n'
            << "C, after E: " << (late ? "read" : late.message()) << '\n';
  return together && written_by_e && !late ? 0 : 1;
}

// Worker A read the balance, and was paused until its lease had ended. B got the lock meanwhile.
int run(const std::filesystem::path& directory) {
  Ledger ledger(directory);
  const holdfast::Token a(33);
  const holdfast::Token b(34);

  const int seen_by_a = ledger.balance(a).value();
  const int seen_by_b = ledger.balance(b).value();
  const auto written_by_a = ledger.set_balance(a, seen_by_a + 100);  // A wakes up
  const auto written_by_b = ledger.set_balance(b, seen_by_b + 10);

  std::cout << "A: " << (written_by_a ? "written" : written_by_a.message()) << '\n'
            << "B: " << (written_by_b ? "written" : written_by_b.message()) << '\n'
            << "balance: " << ledger.balance(b).value() << '\n';
  const bool fenced = !written_by_a && written_by_a.code() == holdfast::Code::stale_token;
  return fenced && written_by_b && ledger.balance(b).value() == 10 ? read_together(ledger) : 1;
}

}  // namespace

int main() {
  const auto directory = std::filesystem::temp_directory_path() /
                         ("holdfast-fenced-service-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  const int status = run(directory);
  std::filesystem::remove_all(directory);
  return status;
}
