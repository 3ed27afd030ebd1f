#include "workers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "bare.h"
#include "race.h"
#include "report.h"
#include "serve.h"
#include "timing.h"

namespace holdfast::bench {

namespace {

// A lock of one thread.
class Simple {
 public:
  virtual ~Simple() = default;
  virtual void acquire() = 0;
  virtual void release() = 0;
};

class BareLock final : public Simple {
 public:
  BareLock(const std::string& path, std::string name) : bare_(path), name_(std::move(name)) {
    bare_.make_row(name_);
  }
  void acquire() override {
    while (!bare_.take(name_, getpid())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void release() override { bare_.give(name_, getpid()); }

 private:
  Bare bare_;
  std::string name_;
};

class FileLock final : public Simple {
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

using Make = std::function<std::unique_ptr<Simple>(const std::string& name)>;

class SimpleWorker {
 public:
  explicit SimpleWorker(Make make) : make_(std::move(make)) {}

  std::string obey(const std::string& verb, std::istringstream& words) {
    if (verb == "threads") return threads(words);
    if (verb == "contend") return contend(words);
    if (verb == "stop") return stop();
    return "what?";
  }

 private:
  std::string threads(std::istringstream& words) {
    int count = 0;
    double seconds = 0;
    words >> count >> seconds;
    std::vector<std::unique_ptr<Simple>> locks;
    std::vector<Pair> pairs;
    for (int i = 0; i < count; ++i) {
      Simple& lock = *locks.emplace_back(make_("flight-" + std::to_string(i)));
      pairs.emplace_back([&lock] {
        lock.acquire();
        lock.release();
      });
    }
    return format("%.1f", Race(pairs).rate(Seconds(seconds / 5), Seconds(seconds)));
  }

  std::string contend(std::istringstream& words) {
    std::string name;
    int count = 0, hold_us = 0, pause_us = 0;
    words >> name >> count >> hold_us >> pause_us;
    if (count != 1) return "what?";
    over_ = false;
    passes_.clear();
    contender_ = std::thread([=, this] {
      const std::unique_ptr<Simple> lock = make_(name);
      while (!over_) {
        Pass pass{.asked_ns = monotonic_ns(), .got_ns = 0, .released_ns = 0};
        lock->acquire();
        pass.got_ns = monotonic_ns();
        sleep(hold_us);
        pass.released_ns = monotonic_ns();
        lock->release();
        passes_.push_back(pass);
        sleep(pause_us);
      }
    });
    return "ok";
  }

  void sleep(int us) const {
    if (us > 0 && !over_) std::this_thread::sleep_for(std::chrono::microseconds(us));
  }

  std::string stop() {
    over_ = true;
    if (contender_.joinable()) contender_.join();
    return to_line(passes_);
  }

  Make make_;
  std::atomic<bool> over_ = false;
  std::thread contender_;
  std::vector<Pass> passes_;
};

int be_worker(const Make& make) {
  SimpleWorker worker(make);
  return serve([] {},
               [&](const std::string& verb, std::istringstream& words) {
                 return worker.obey(verb, words);
               });
}

std::string path_of(const std::string& url) { return url.substr(url.find("://") + 3); }

}  // namespace

int be_bare_worker(const std::string& url) {
  return be_worker([path = path_of(url) + "-bare"](const std::string& name) {
    return std::make_unique<BareLock>(path, name);
  });
}

int be_flock_worker(const std::string& url) {
  return be_worker([path = path_of(url)](const std::string& name) {
    return std::make_unique<FileLock>(path + "-" + name);
  });
}

}  // namespace holdfast::bench
