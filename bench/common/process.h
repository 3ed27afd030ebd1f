// Processes of a benchmark: forked, pinned, and gone with whoever started them.
//
// The main process opens no client and starts no thread, so it can fork at any time; each
// measurement has a process of its own, with memory that nothing has touched before. Ctrl-C needs
// no handler: the kernel kills every child (and the server) when its parent ends.
#pragma once

#include <sys/types.h>

#include <functional>
#include <new>
#include <type_traits>
#include <vector>

namespace holdfast::bench {

// The CPUs that this process may use.
std::vector<int> allowed_cpus();
// For the calling thread, and all that it starts from now on.
void pin_to_cpus(const std::vector<int>& cpus);
inline void pin_to_cpu(int cpu) { pin_to_cpus({cpu}); }

// All threads of another process, and what they start from now on.
void pin_process(pid_t process, const std::vector<int>& cpus);
std::vector<int> allowed_cpus_of(pid_t process);

// CPU time used so far by all threads of a living process of ours.
double cpu_seconds(pid_t process);
// Memory of this process that is in RAM.
double resident_mb();

// In the child: ends it when the parent ends, however that comes about.
void die_with_parent(pid_t parent);

// Runs `body` in a forked child. An exception there is printed and becomes status 1.
pid_t start_process(const std::function<void()>& body);
// Waits for its end. Throws if it failed.
void join_process(pid_t child);

void* map_shared(std::size_t size);
void unmap_shared(void* memory, std::size_t size);

// One T in memory that is shared with children forked later.
template <class T>
class Shared {
 public:
  Shared() : value_(new(map_shared(sizeof(T))) T) {}
  ~Shared() { unmap_shared(value_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

// Where the scheduler likes.
inline constexpr int kAnyCpu = -1;

// Runs `body` in a process of its own, pinned to `cpu`, and returns what it returns.
template <class F>
auto in_process(int cpu, F body) {
  using Value = std::invoke_result_t<F>;
  static_assert(std::is_trivially_copyable_v<Value>);
  const Shared<Value> value;
  join_process(start_process([&] {
    if (cpu != kAnyCpu) pin_to_cpu(cpu);
    *value = body();
  }));
  return *value;
}

}  // namespace holdfast::bench
