// Lookout: asks each engine for its locks again and again, and waits for none: one that hangs delays only its own next
// look. A look that takes long is followed by a longer pause, so that looking takes a tenth of the time at most.
//
// Used by one thread; the answers come from those of the clients.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "look.h"

namespace holdfast::cli::top {

// In their order.
std::vector<std::string> names_of(const std::vector<OpenPlace>& places);

class Lookout {
 public:
  using Clock = std::chrono::steady_clock;
  struct Answer {
    std::size_t engine = 0;
    Result<std::vector<LockInfo>> locks;
    Clock::time_point begun;
    Clock::time_point ended;
  };

  // REQUIRES: `places` lives longer.
  Lookout(std::vector<OpenPlace>& places, std::chrono::milliseconds interval);
  ~Lookout();
  Lookout(const Lookout&) = delete;
  Lookout& operator=(const Lookout&) = delete;

  // Readable when there is something to take.
  int descriptor() const;
  // Asks those whose pause is over; returns which.
  std::vector<std::size_t> ask(Clock::time_point now);
  std::vector<Answer> take_answers();
  std::vector<std::string> take_messages();
  // When ask() has something to do again; max() if all owe an answer.
  Clock::time_point next() const;
  bool owes() const;

  // Takes the lock from the holder with this token; the outcome comes as a message.
  void break_lock(std::size_t engine, const Name& name, Token token);

 private:
  struct Mailbox;
  struct Asked {
    bool owes = false;
    Clock::time_point due{};
  };

  std::vector<OpenPlace>& places_;
  const std::chrono::milliseconds interval_;
  // Callbacks may come when we are gone.
  std::shared_ptr<Mailbox> mailbox_;
  std::vector<Asked> asked_;
};

}  // namespace holdfast::cli::top
