#include "section.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

namespace holdfast::interop {

namespace {

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& file, int flags)
      : number_(open(file.c_str(), flags | O_CLOEXEC, 0600)) {
    if (number_ < 0 && errno != EEXIST) fail(file.c_str());
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return number_ >= 0; }
  std::string read_from_start() const {
    std::array<char, 32> bytes{};
    const ssize_t size = pread(number_, bytes.data(), bytes.size(), 0);
    if (size < 0) fail("read");
    return {bytes.data(), static_cast<std::size_t>(size)};
  }
  void write_at_start(const std::string& text) const {
    if (pwrite(number_, text.data(), text.size(), 0) < 0) fail("write");
  }
  void append(const std::string& text) const {
    if (::write(number_, text.data(), text.size()) < 0) fail("append");
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
  }
  int number_;
};

}  // namespace

std::filesystem::path Section::beside(const char* suffix) const { return file_.string() + suffix; }

void Section::await_go() const {
  while (!std::filesystem::exists(beside(".go"))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Section::pass(char who) const {
  const bool alone = Descriptor(beside(".inside"), O_CREAT | O_EXCL | O_WRONLY).is_open();
  const Descriptor number(file_, O_CREAT | O_RDWR);
  const std::string before = number.read_from_start();
  // Appended in one step, so that no line of the log is lost even when the lock is broken.
  Descriptor(beside(".log"), O_CREAT | O_APPEND | O_WRONLY)
      .append((alone ? "" : "!") + std::string(1, who));
  number.write_at_start(std::to_string(before.empty() ? 1 : std::stoull(before) + 1));
  if (alone) std::filesystem::remove(beside(".inside"));
}

}  // namespace holdfast::interop
