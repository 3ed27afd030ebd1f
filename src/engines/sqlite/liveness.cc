#include "engines/sqlite/liveness.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <vector>

namespace holdfast::internal {

namespace {

// A forked child that does not exec would keep its parent's byte locked after the parent's death;
// so it closes the descriptors that it inherited.
class OpenDescriptors {
 public:
  static OpenDescriptors& instance() {
    static OpenDescriptors* const all = new OpenDescriptors;  // Outlives every client.
    return *all;
  }

  void add(int descriptor) {
    const std::lock_guard lock(mutex_);
    all_.push_back(descriptor);
  }
  void remove(int descriptor) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, descriptor);
  }
  bool inherited(const struct stat& file) {
    const std::lock_guard lock(mutex_);
    return std::find(inherited_.begin(), inherited_.end(), identity(file)) != inherited_.end();
  }

 private:
  OpenDescriptors() {
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().leave_to_parent(); });
  }

  using Identity = std::pair<dev_t, ino_t>;
  static Identity identity(const struct stat& file) { return {file.st_dev, file.st_ino}; }

  void leave_to_parent() {
    for (const int descriptor : all_) {
      struct stat file{};
      if (fstat(descriptor, &file) == 0) inherited_.push_back(identity(file));
      close(descriptor);
    }
    all_.clear();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<int> all_;
  std::vector<Identity> inherited_;  // the files that our parent had open
};

std::string live_file(const std::filesystem::path& database) { return database.string() + "-live"; }

struct flock byte_at(std::int64_t offset) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool Liveness::inherited_by_fork(const std::filesystem::path& database) {
  struct stat file{};
  return stat(live_file(database).c_str(), &file) == 0 &&
         OpenDescriptors::instance().inherited(file);
}

Liveness::Liveness(const std::filesystem::path& database, Runtime& runtime) {
  const std::string path = live_file(database);
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), path);
  struct stat file{};
  fstat(descriptor_, &file);
  mine_.device = static_cast<std::int64_t>(file.st_dev);
  mine_.inode = static_cast<std::int64_t>(file.st_ino);
  for (;;) {
    mine_.id = static_cast<std::int64_t>(runtime.random() >> 2) | 1;
    struct flock lock = byte_at(mine_.id);
    if (fcntl(descriptor_, F_OFD_SETLK, &lock) == 0) break;
    if (errno == EAGAIN || errno == EACCES) continue;  // Somebody drew the same number: draw again.
    const int error = errno;
    close(descriptor_);
    throw std::system_error(error, std::generic_category(), "lock in " + path);
  }
  OpenDescriptors::instance().add(descriptor_);
}

Liveness::~Liveness() {
  OpenDescriptors::instance().remove(descriptor_);
  close(descriptor_);
}

bool Liveness::may_live(const ProcessMark& process) const {
  if (process.id == 0 || process.id == mine_.id) return true;
  if (!same_file(process)) return true;
  struct flock lock = byte_at(process.id);
  if (fcntl(descriptor_, F_OFD_GETLK, &lock) != 0) return true;
  return lock.l_type != F_UNLCK;
}

bool Liveness::surely_lives(const ProcessMark& process) const {
  return same_file(process) && process.id != mine_.id && may_live(process);
}

}  // namespace holdfast::internal
