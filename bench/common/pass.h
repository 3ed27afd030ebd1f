// Pass: one turn with a lock; and what many of them, of all who contended, say about hand-offs.
//
//   asked ──► got ──► released      of one worker; CLOCK_MONOTONIC, before and after the calls
//                        |◄── gap ──►| got of the next
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

struct Pass {
  std::int64_t asked_ns;
  std::int64_t got_ns;
  std::int64_t released_ns;  // when release was called
  int thread = 0;            // of its worker
  int worker = 0;
};

std::int64_t monotonic_ns();

// A worker's passes as a line, and back. Throws if it is none.
std::string to_line(const std::vector<Pass>& passes);
std::vector<Pass> passes_of(const std::string& line);

struct HandOffs {
  double per_s;  // changes of owner
  double p50_us, p99_us, p999_us;
  std::size_t count;  // 0: the times mean nothing
};
// Of those that came to an end between these moments. Only what was waited for counts: the next had
// asked before the former released. Throws if two held the lock at once.
HandOffs hand_offs(std::vector<Pass> passes, std::int64_t from_ns, std::int64_t to_ns);

}  // namespace holdfast::bench
