// Shared by the tests of the fences. Only tests include this.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "holdfast/fence.h"

namespace holdfast::fence_testing {

inline Ticket reader(std::uint64_t token) { return {Token(token), Mode::shared}; }

// Removed with all that is in it.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fence-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = std::filesystem::canonical(pattern);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline unsigned mode_of(const std::filesystem::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

inline void pause_ms(int ms) { ::poll(nullptr, 0, ms); }

// A T that forked children see too. REQUIRES: T is trivially destructible or atomic.
template <class T>
class Shared {
 public:
  Shared()
      : value_(new(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0)) T()) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(value_, sizeof(T)); }
  T& operator*() { return *value_; }
  T* operator->() { return value_; }

 private:
  T* value_;
};

// A forked process that runs `body` and exits with what it returns; 99 if it throws. Killed when
// this ends. A child that hangs dies of its own alarm.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::alarm(120);
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::cerr << "child: " << error.what() << std::endl;
    }
    ::_exit(status);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (pid_ > 0) kill_hard();
  }

  pid_t pid() const { return pid_; }
  // The exit status; minus the signal if it died of one.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void kill_hard() {
    ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  pid_t pid_;
};

template <class Body>
int in_child(Body body) {
  return Child(std::move(body)).wait();
}

// Expectations inside a child: a failed one is printed and decides its exit status.
inline int verdict() { return ::testing::Test::HasFailure() ? 1 : 0; }

template <class Flag>
void wait_until_set(const Flag& flag) {
  while (!flag.load()) pause_ms(1);
}

}  // namespace holdfast::fence_testing
