#include "process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace holdfast::cli {
namespace {

// The number that the whole of a file's name makes; 0 if it is none.
pid_t number_of(std::string_view name) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

// Splits off the next word.
std::string_view next(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <class T>
T number_at(std::string_view& line) {
  const std::string_view word = next(line);
  T number{};
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

}  // namespace

// "PID (comm) S PPID PGRP …": comm may contain anything, so the last ')' counts. See proc(5).
bool read_process(pid_t pid, ProcessEntry& entry) {
  char path[32] = "/proc/";
  char* const end = std::to_chars(path + 6, path + 20, pid).ptr;
  std::string_view("/stat").copy(end, 5);
  end[5] = '\0';
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[1024];
  const ssize_t got = ::read(file, text, sizeof text);
  close(file);
  std::string_view line(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string_view::npos) return false;
  line.remove_prefix(name_end + 2);
  entry.pid = pid;
  entry.state = next(line).front();
  entry.parent = number_at<pid_t>(line);
  entry.group = number_at<pid_t>(line);
  for (int field = 6; field < 9; ++field) next(line);
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING
  entry.dying = (number_at<unsigned long>(line) & kExiting) != 0;
  for (int field = 10; field < 20; ++field) next(line);
  entry.threads = number_at<int>(line);
  next(line);
  entry.started = number_at<std::uint64_t>(line);
  for (int field = 23; field < 31; ++field) next(line);
  entry.dying = entry.dying || (number_at<unsigned long>(line) & (1UL << (SIGKILL - 1))) != 0;
  return true;
}

bool ProcessTable::add(pid_t pid, pid_t parent) {
  if (!entries_.resize(size_ + 1)) return false;
  ProcessEntry& entry = entries_[size_];
  if (!read_process(pid, entry)) return true;
  ++size_;
  if (parent != 0 && entry.parent == parent && !entry.dying && !entry.ended()) {
    entry.dying = kill(pid, SIGKILL) == 0;
    if (entry.dying) ++killed_;
  }
  return true;
}

bool ProcessTable::read(pid_t parent) {
  size_ = 0;
  const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return false;
  alignas(dirent64) char buffer[16384];
  long got = 0;
  bool complete = true;
  while (complete && (got = syscall(SYS_getdents64, proc, buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < got;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      const pid_t pid = number_of(entry->d_name);
      if (pid > 0) complete = complete && add(pid, parent);
    }
  }
  close(proc);
  return complete && got == 0;
}

std::size_t ProcessTable::find(pid_t pid) const {
  std::size_t low = 0;
  std::size_t high = size_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (entries_[middle].pid < pid) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size_ && entries_[low].pid == pid ? low : kNone;
}

}  // namespace holdfast::cli
