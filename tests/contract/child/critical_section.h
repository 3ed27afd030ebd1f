// A critical section that notices when somebody else is in it. It lives in a file that all
// processes map, and stands for the resource that the lock protects.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>

namespace holdfast::contract {

class CriticalSection {
 public:
  struct State {
    std::atomic<std::uint32_t> inside;
    std::atomic<std::uint64_t> overlaps;  // entered while somebody was inside
    std::atomic<std::uint64_t> disorder;  // entered with a token not above the one before
    std::atomic<std::uint64_t> last_token;
    std::atomic<std::uint64_t> go;   // children start together when it is set
    volatile std::uint64_t counter;  // plain on purpose: an overlap loses counts
  };

  // Creates the file if it is missing. Throws std::system_error.
  explicit CriticalSection(const std::filesystem::path& file);
  ~CriticalSection();
  CriticalSection(const CriticalSection&) = delete;
  CriticalSection& operator=(const CriticalSection&) = delete;

  // Goes through the section once, as the holder of `token`.
  void pass(std::uint64_t token);
  State& state() { return *state_; }

 private:
  State* state_;
};

}  // namespace holdfast::contract
