// ProcessTable: all processes that /proc shows, read in one go and without the heap.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace holdfast::cli {

// An array of trivial values in pages of its own.
template <class T>
class PageArray {
 public:
  PageArray() = default;
  ~PageArray() {
    if (values_ != nullptr) munmap(values_, room_ * sizeof(T));
  }
  PageArray(const PageArray&) = delete;
  PageArray& operator=(const PageArray&) = delete;

  T& operator[](std::size_t i) { return values_[i]; }
  const T& operator[](std::size_t i) const { return values_[i]; }

  // Makes room for `count` values; keeps those that are there. False if there is no memory.
  bool resize(std::size_t count) {
    if (count <= room_) return true;
    const std::size_t room = count < 2 * room_ ? 2 * room_ : (count < 512 ? 512 : count);
    void* const pages = values_ == nullptr
                            ? mmap(nullptr, room * sizeof(T), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                            : mremap(values_, room_ * sizeof(T), room * sizeof(T), MREMAP_MAYMOVE);
    if (pages == MAP_FAILED) return false;
    values_ = static_cast<T*>(pages);
    room_ = room;
    return true;
  }

 private:
  T* values_ = nullptr;
  std::size_t room_ = 0;
};

struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  pid_t group;
  int threads;
  std::uint64_t started;  // ticks since boot: tells a process from a later one of the same number
  char state;
  bool dying;  // SIGKILL is on its way, or it is in exit() already

  // A leader that has ended is a zombie as long as other threads of the process live.
  bool ended() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};

// False if there is no such process.
bool read_process(pid_t pid, ProcessEntry& entry);

class ProcessTable {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // False if /proc cannot be read. Kills the children of `parent`, if any is given, as it meets
  // them, so that they end while we read on. REQUIRES: `parent` is this process, which does not reap
  // meanwhile: their numbers are theirs.
  bool read(pid_t parent = 0);
  int killed() const { return killed_; }  // by read()
  std::size_t size() const { return size_; }
  const ProcessEntry& operator[](std::size_t i) const { return entries_[i]; }
  // The index of a process, or kNone.
  std::size_t find(pid_t pid) const;

 private:
  bool add(pid_t pid, pid_t parent);

  PageArray<ProcessEntry> entries_;  // ascending, as /proc lists them
  std::size_t size_ = 0;
  int killed_ = 0;
};

}  // namespace holdfast::cli
