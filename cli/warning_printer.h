// WarningPrinter: on standard error, what the engine warns of, and once a minute why we wait for a server.
// Called inside the loop of one client.
#pragma once

#include <cstdio>
#include <optional>

#include "holdfast/observer.h"

namespace holdfast::cli {

class WarningPrinter : public Observer {
 public:
  void on_warning(const std::string& text) override {
    std::fprintf(stderr, "holdfast: warning: %s\n", text.c_str());
  }
  void on_retry(const Claim&, const Failure& failure) override {
    constexpr Duration kPause = std::chrono::minutes(1);
    const BootTime now = BootClock::now();
    if (said_ && now - *said_ < kPause) return;
    said_ = now;
    std::fprintf(stderr, "holdfast: %s; trying again\n", failure.message().c_str());
  }

 private:
  std::optional<BootTime> said_;
};

}  // namespace holdfast::cli
