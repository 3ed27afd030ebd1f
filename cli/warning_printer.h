// WarningPrinter: what the engine warns of, on standard error.
#pragma once

#include <cstdio>

#include "holdfast/observer.h"
#include "session.h"

namespace holdfast::cli {

class WarningPrinter : public Observer {
 public:
  void on_warning(const std::string& text) override {
    std::fprintf(stderr, "holdfast: warning: %s\n", for_terminal(text).c_str());
  }
};

}  // namespace holdfast::cli
