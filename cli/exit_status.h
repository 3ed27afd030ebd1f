// The exit statuses of the command: part of its contract with scripts (see holdfast(1)).
#pragma once

#include "holdfast/result.h"

namespace holdfast::cli {

enum ExitStatus : int {
  kOk = 0,
  kViolation = 1,       // (sim) what must not be was found; (doctor) warnings
  kTooLittle = 2,       // (sim) what should have happened never did
  kUsage = 64,          // EX_USAGE: bad option or argument
  kUnreachable = 69,    // EX_UNAVAILABLE: the engine did not answer
  kSoftware = 70,       // EX_SOFTWARE: a bug of ours
  kExhausted = 71,      // EX_OSERR: no thread or descriptor is to be had
  kOutput = 74,         // EX_IOERR: standard output could not be written
  kBusy = 75,           // EX_TEMPFAIL: not acquired in time
  kLost = 76,           // EX_PROTOCOL: the lock was lost, or is not held any more
  kMisconfigured = 78,  // EX_CONFIG: the store is not usable as it is
  kCannotExecute = 126,
  kNotFound = 127,
  kSignalBase = 128,  // plus the number of the signal
};

ExitStatus exit_status_of(Code code);

}  // namespace holdfast::cli
