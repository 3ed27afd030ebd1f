// DeathWatch: sets an event when another process dies, by its pidfd. One descriptor per watched
// process, however many claims wait for it. Inside the loop only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engines/sqlite/lock_table.h"
#include "holdfast/runtime.h"
#include "wire/descriptor_watch.h"

namespace holdfast::internal {

class DeathWatch {
 public:
  explicit DeathWatch(Runtime& runtime);

  // While it lives, `event` is set when one of the watched processes dies.
  class Watching {
   public:
    Watching() = default;
    Watching(Watching&& other) noexcept;
    Watching& operator=(Watching&& other) noexcept;
    ~Watching();

    // True if one of the processes cannot be watched: it is in another pid namespace, or it has
    // died and its children keep the lock. Then only looking again tells.
    bool must_poll() const { return must_poll_; }

   private:
    friend class DeathWatch;
    void end();

    DeathWatch* owner_ = nullptr;
    Event* event_ = nullptr;
    std::vector<ProcessId> processes_;
    bool must_poll_ = false;
  };
  Watching watch(const std::vector<ProcessInfo>& processes, Event& event);

 private:
  struct Watched {
    std::unique_ptr<DescriptorWatch> pidfd;
    std::set<Event*> events;
  };
  std::unique_ptr<DescriptorWatch> open_pidfd(const ProcessInfo& process);
  void on_death(ProcessId process);

  Runtime& runtime_;
  std::int64_t pid_space_;
  std::map<ProcessId, Watched> watched_;
  // Dead, but not all of its children: their pidfd would be readable for ever.
  std::set<ProcessId> dead_;
};

}  // namespace holdfast::internal
