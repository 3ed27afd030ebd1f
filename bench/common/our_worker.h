// OurWorker: Holdfast as a worker of a benchmark (worker.h), one client for all that it is told. It also
// knows
//
//   hold NAME                                  ok; it has the lock until it is told
//   drop                                       ok; not any more
//   wait NAME THREADS TTL_MS                   ok; so many wait, have the lock once, and give it back;
//                                              `stop` returns when they have
#pragma once

#include <string>

namespace holdfast::bench {

// Obeys the lines on stdin until they end. Returns the exit status.
int be_our_worker(const std::string& url);

}  // namespace holdfast::bench
