// The raw client of Redis as a worker of the benchmark (worker.h).
//
//   pairs, threads   SET NX PX, then compare and delete; a connection for each thread
//   flight           the same with a token, pipelined on one connection
//   contend          BLPOP and RPUSH of one token in a list: the floor of what a hand-off can cost; no
//                    owner, no expiry: not a lock
#pragma once

#include <string>

namespace holdfast::bench {

// Obeys the lines on stdin until they end. Returns the exit status.
int be_redis_raw_worker(const std::string& url);

}  // namespace holdfast::bench
