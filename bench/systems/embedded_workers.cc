#include "embedded_workers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>

#include "simple_worker.h"
#include "sqlite_raw.h"

namespace holdfast::bench {

namespace {

class BareLock final : public SimpleLock {
 public:
  BareLock(const std::string& path, std::string name) : bare_(path), name_(std::move(name)) {
    bare_.make_row(name_);
  }
  void acquire() override {
    while (!bare_.take(name_, getpid())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void release() override { bare_.give(name_, getpid()); }

 private:
  SqliteRaw bare_;
  std::string name_;
};

class FileLock final : public SimpleLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  ~FileLock() override { close(file_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  void acquire() override { lock(LOCK_EX); }
  void release() override { lock(LOCK_UN); }

 private:
  void lock(int what) const {
    if (flock(file_, what) != 0) throw std::system_error(errno, std::generic_category(), "flock");
  }
  int file_;
};

std::string path_of(const std::string& url) {
  const std::size_t begin = url.find("://") + 3;
  return url.substr(begin, url.find('?') - begin);
}

}  // namespace

int be_bare_worker(const std::string& url) {
  return be_simple_worker([path = path_of(url) + "-bare"](const std::string& name) {
    return std::make_unique<BareLock>(path, name);
  });
}

int be_flock_worker(const std::string& url) {
  return be_simple_worker([path = path_of(url)](const std::string& name) {
    return std::make_unique<FileLock>(path + "-" + name);
  });
}

}  // namespace holdfast::bench
