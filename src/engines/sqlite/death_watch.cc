#include "engines/sqlite/death_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"

namespace holdfast::internal {

DeathWatch::DeathWatch(Runtime& runtime)
    : runtime_(runtime), pid_space_(this_process().pid_space) {}

std::unique_ptr<DescriptorWatch> DeathWatch::open_pidfd(const ProcessInfo& process) {
  if (process.pid_space != pid_space_) return nullptr;
  // O_NONBLOCK is not needed: a pidfd is only polled.
  const int descriptor =
      static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process.pid), 0));
  if (descriptor < 0) return nullptr;
  // Only now is the pid pinned; before, it could have been given to another process.
  if (start_time_of(process.pid) != process.started) {
    close(descriptor);
    return nullptr;
  }
  return std::make_unique<DescriptorWatch>(runtime_, descriptor,
                                           [this, id = process.mark.id] { on_death(id); });
}

DeathWatch::Watching DeathWatch::watch(const std::vector<ProcessInfo>& processes, Event& event) {
  Watching watching;
  watching.owner_ = this;
  watching.event_ = &event;
  for (const ProcessInfo& process : processes) {
    auto found = watched_.find(process.mark.id);
    if (found == watched_.end()) {
      std::unique_ptr<DescriptorWatch> pidfd =
          dead_.contains(process.mark.id) ? nullptr : open_pidfd(process);
      if (!pidfd) {
        watching.must_poll_ = true;
        continue;
      }
      found = watched_.emplace(process.mark.id, Watched{std::move(pidfd), {}}).first;
    }
    found->second.events.insert(&event);
    watching.processes_.push_back(process.mark.id);
  }
  return watching;
}

void DeathWatch::on_death(ProcessId process) {
  const auto found = watched_.find(process);
  if (found == watched_.end()) return;
  dead_.insert(process);
  const std::set<Event*> events = std::move(found->second.events);
  watched_.erase(found);  // A dead process's pidfd stays readable for ever.
  for (Event* event : events) event->set();
}

DeathWatch::Watching::Watching(Watching&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      event_(other.event_),
      processes_(std::move(other.processes_)),
      must_poll_(other.must_poll_) {}

DeathWatch::Watching& DeathWatch::Watching::operator=(Watching&& other) noexcept {
  if (this != &other) {
    end();
    owner_ = std::exchange(other.owner_, nullptr);
    event_ = other.event_;
    processes_ = std::move(other.processes_);
    must_poll_ = other.must_poll_;
  }
  return *this;
}

DeathWatch::Watching::~Watching() { end(); }

void DeathWatch::Watching::end() {
  if (!owner_) return;
  for (const ProcessId process : processes_) {
    const auto found = owner_->watched_.find(process);
    if (found == owner_->watched_.end()) continue;
    found->second.events.erase(event_);
    if (found->second.events.empty()) owner_->watched_.erase(found);
  }
  owner_ = nullptr;
}

}  // namespace holdfast::internal
