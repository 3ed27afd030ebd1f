// Connects a socket to the first of several addresses that answers. An address that is silent does
// not use up the time of the others: the next one is tried beside it after kHeadStart, earlier where
// the deadline is near, or at once when one is refused ("happy eyeballs", RFC 8305). Inside the loop
// only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/real_runtime.h"
#include "holdfast/result.h"
#include "wire/address.h"

namespace holdfast::internal {

constexpr Duration kHeadStart = std::chrono::milliseconds(250);

struct Connected {
  Descriptor socket;  // does not block, is closed on exec
  std::size_t which;  // of the addresses
};

// unreachable if none answers by the deadline. REQUIRES: there is an address.
Task<Result<Connected>> connect_to_any(RealRuntime& runtime, std::vector<Address> addresses,
                                       Deadline deadline);

// For client libraries that connect by themselves, to one address after the other: `numbers` with one
// that answers first. Where there is more than one, that costs a connection which is closed at once.
Task<Result<std::vector<std::string>>> answering_first(RealRuntime& runtime,
                                                       std::vector<std::string> numbers,
                                                       std::uint16_t port, Deadline deadline);
// The deadline of the first of `left` addresses, so that one which accepts and then says nothing leaves
// time for those after it.
Deadline share_of(Deadline deadline, BootTime now, std::size_t left);

}  // namespace holdfast::internal
