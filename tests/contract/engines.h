// The engines that the suite runs against. To add one: say in engines.cc how to start its servers
// in a temporary directory and what it can do. Every test then runs on it as well.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/engine.h"

namespace holdfast::contract {

// A directory of its own, in memory where there is such a thing; removed at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The place of one test on its engine. start() may share a server between tests, as long as url() leads to a
// place where no other test's locks are.
class Place {
 public:
  virtual ~Place() = default;
  // As the least-privileged user that docs/engines grants (rights.h).
  virtual std::string url() const = 0;
  // As an administrator, elsewhere on the same servers; empty if there are no users.
  virtual std::string admin_url() const { return {}; }
  // Where that user has no rights; empty if rights do not depend on the place.
  virtual std::string outside_url() const { return {}; }
};

struct EngineUnderTest {
  std::string name;  // in the test's name: letters, digits and _
  std::function<std::unique_ptr<Place>()> start;

  // Its features. A test of a feature that it has not is skipped.
  bool shared_mode = true;
  bool permit_mode = true;
  bool fifo = true;
  bool increasing_tokens = true;
  bool records = true;
  // Everybody can see who waits. Where only a client itself knows, a test gives the waiters a moment
  // to come instead, and what it says of the queue is skipped.
  bool shows_waiters = true;
  // A waiter is shown a moment before the server has it in its queue: announced by one statement,
  // queued by the next.
  bool shows_waiters_early = false;
  // Other processes see its locks.
  bool between_processes = true;
  // The death of a process is noticed at once; else its locks end after their ttl.
  bool notices_death = true;
  // A hold can outlive the process that took it (handles).
  bool outlives_process = true;
  // A forked child can open it although its parent has it open.
  bool opens_after_fork = true;

  // Short enough to wait for its end in a test, long enough that a busy machine renews in time.
  Duration short_ttl = std::chrono::milliseconds(600);
  // For the tests with many.
  int processes = 8;
  int sections_per_process = 1500;
  int threads = 64;
};

const std::vector<EngineUnderTest>& engines_under_test();

void PrintTo(const EngineUnderTest& engine, std::ostream* out);

}  // namespace holdfast::contract
