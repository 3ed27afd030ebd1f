#include "engines/sqlite/liveness.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "engines/sqlite/lock_owner.h"
#include "engines/sqlite/shared_files.h"
#include "wire/sqlite.h"

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

// Somebody else's lock on any byte, if there is one.
std::optional<struct flock> lock_of_another(int descriptor) {
  struct flock lock = byte_at(0);
  lock.l_len = 0;  // to the end, however far the file grows
  if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock;
}

// Our own locks are of open files and have no process.
sqlite::Error not_for_others(const std::string& path, pid_t pid) {
  return {sqlite::Error::kInUse, path + " is locked by " + process_name(pid) +
                                     "; only Holdfast may lock it: end that process"};
}

int open_ours(const std::string& path, const Ownership& ownership) {
  if (ownership.group) make_shared_file(path, *ownership.group);
  const int create = ownership.group ? 0 : O_CREAT;
  const int descriptor = open(path.c_str(), O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    sqlite::throw_at_limit(errno);
    throw sqlite::Error(sqlite::Error::kRefused,
                        path + " cannot be opened (" + std::strerror(errno) +
                            "); check its owner and permissions, and those of its directory");
  }
  try {
    struct stat file{};
    fstat(descriptor, &file);
    require_file(file, path, ownership);
  } catch (...) {
    close(descriptor);
    throw;
  }
  return descriptor;
}

}  // namespace

bool Liveness::inherited_by_fork(const std::filesystem::path& database) {
  struct stat file{};
  return stat(live_file(database).c_str(), &file) == 0 &&
         OpenDescriptors::instance().inherited(file);
}

Liveness::Liveness(const std::filesystem::path& database, Runtime& runtime,
                   const Ownership& ownership, const FoundDatabase& found)
    : descriptor_(open_ours(live_file(database), ownership)) {
  struct stat file{};
  fstat(descriptor_, &file);
  mine_.device = static_cast<std::int64_t>(file.st_dev);
  mine_.inode = static_cast<std::int64_t>(file.st_ino);
  try {
    // Before our own byte is locked: two clients that create a database do not wait for each other.
    const std::optional<FoundDatabase> named = named_database();
    const bool same = named && named->device == found.device && named->inode == found.inode;
    if (!found.complete || (named && !same)) refuse_if_used(database);
    lock_a_byte(live_file(database), runtime);
    if (!same) name(found);
  } catch (...) {
    close(descriptor_);
    throw;
  }
  OpenDescriptors::instance().add(descriptor_);
}

std::optional<FoundDatabase> Liveness::named_database() const {
  std::int64_t named[2] = {};
  if (pread(descriptor_, named, sizeof named, 0) != sizeof named) return std::nullopt;
  return FoundDatabase{.complete = true, .device = named[0], .inode = named[1]};
}

void Liveness::name(const FoundDatabase& found) {
  const std::int64_t named[2] = {found.device, found.inode};
  if (pwrite(descriptor_, named, sizeof named, 0) == sizeof named) return;
  sqlite::throw_at_limit(errno);
  throw sqlite::Error(sqlite::Error::kInUse, std::string("its -live file cannot be written (") +
                                                 std::strerror(errno) + ")");
}

void Liveness::refuse_if_used(const std::filesystem::path& database) const {
  const std::optional<struct flock> lock = lock_of_another(descriptor_);
  if (!lock) return;
  const std::string live = live_file(database);
  if (lock->l_pid > 0) throw not_for_others(live, lock->l_pid);
  throw sqlite::Error(sqlite::Error::kInUse,
                      "it, its -wal or its -shm was removed or replaced while a process uses it; "
                      "end that process (fuser " +
                          live + " finds it)");
}

void Liveness::lock_a_byte(const std::string& path, Runtime& runtime) {
  // Two clients hardly ever draw the same number; four times in a row means a lock on all of them.
  constexpr int kDraws = 4;
  for (int draw = 0; draw < kDraws; ++draw) {
    mine_.id = static_cast<std::int64_t>(runtime.random() >> 2) | 1;
    struct flock lock = byte_at(mine_.id);
    if (fcntl(descriptor_, F_OFD_SETLK, &lock) == 0) return;
    if (errno != EAGAIN && errno != EACCES) {
      throw sqlite::Error(sqlite::Error::kRefused,
                          path + " cannot be locked (" + std::strerror(errno) + ")");
    }
  }
  const std::optional<struct flock> lock = lock_of_another(descriptor_);
  throw not_for_others(path, lock ? lock->l_pid : 0);
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
