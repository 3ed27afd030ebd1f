#include "engines/sqlite/schema.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

#include "engines/kit/url_reader.h"
#include "engines/sqlite/boot.h"
#include "engines/sqlite/shared_files.h"

namespace holdfast::internal {

namespace {

// lock: one row per name that was ever locked; it stays, because it keeps the last token. An
// exclusive holder is in the row itself (owner …), so that an uncontended acquire and release are
// one UPDATE each; shared and permit holders are in `holder`. Times are nanoseconds on
// CLOCK_BOOTTIME.
constexpr const char* kCreate = R"sql(
CREATE TABLE meta(
  one INTEGER PRIMARY KEY CHECK(one = 1),
  boot TEXT NOT NULL,
  token_floor INTEGER NOT NULL,
  wall_offset INTEGER NOT NULL DEFAULT 0);
CREATE TABLE process(
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL, inode INTEGER NOT NULL,
  pid INTEGER NOT NULL, started INTEGER NOT NULL, pid_space INTEGER NOT NULL,
  label BLOB NOT NULL);
CREATE TABLE lock(
  id INTEGER PRIMARY KEY,
  name BLOB NOT NULL UNIQUE,
  token INTEGER NOT NULL,
  owner BLOB, process INTEGER, since INTEGER, expires INTEGER, label BLOB,
  waiting INTEGER NOT NULL DEFAULT 0,
  sharing INTEGER NOT NULL DEFAULT 0,
  sharing_mode INTEGER NOT NULL DEFAULT 0,
  permits INTEGER NOT NULL DEFAULT 0);
CREATE TABLE holder(
  lock INTEGER NOT NULL, claim BLOB NOT NULL,
  token INTEGER NOT NULL, process INTEGER NOT NULL,
  since INTEGER NOT NULL, expires INTEGER NOT NULL, label BLOB,
  PRIMARY KEY(lock, claim)) WITHOUT ROWID;
CREATE TABLE waiter(
  lock INTEGER NOT NULL, seq INTEGER NOT NULL, claim BLOB NOT NULL,
  mode INTEGER NOT NULL, permits INTEGER NOT NULL, ttl INTEGER NOT NULL,
  process INTEGER NOT NULL, outlives INTEGER NOT NULL, since INTEGER NOT NULL, label BLOB,
  PRIMARY KEY(lock, seq)) WITHOUT ROWID;
INSERT INTO meta VALUES(1, '', 0, 0);
PRAGMA user_version = 2;
)sql";

// Version 1 knew no wall clock.
constexpr const char* kUpgrade = R"sql(
ALTER TABLE meta ADD COLUMN wall_offset INTEGER NOT NULL DEFAULT 0;
PRAGMA user_version = 2;
)sql";

constexpr std::int64_t kSchemaVersion = 2;

// 0 for an empty database. Throws if it is not ours.
std::int64_t schema_version(sqlite::Database& database) {
  sqlite::Statement statement(database,
                              "SELECT (SELECT user_version FROM pragma_user_version),"
                              " (SELECT count(*) FROM sqlite_master)");
  auto row = statement.run();
  row.next();
  const std::int64_t version = row.number(0);
  if (version > kSchemaVersion) {
    throw sqlite::Error(
        sqlite::Error::kRefused,
        "its schema version is " + std::to_string(version) + ", made by a newer Holdfast");
  }
  if (version == 0 && row.number(1) > 0) {
    throw sqlite::Error(sqlite::Error::kRefused,
                        "it is the database of another program; give the locks a file of their "
                        "own");
  }
  return version;
}

const char* network_file_system(long type) {
  switch (static_cast<unsigned long>(type) & 0xFFFFFFFFUL) {
    case NFS_SUPER_MAGIC: return "NFS";
    case SMB_SUPER_MAGIC: return "SMB";
    case 0xFF534D42UL: return "CIFS";
    case 0xFE534D42UL: return "SMB2";
    case AFS_SUPER_MAGIC: return "AFS";
    case CODA_SUPER_MAGIC: return "Coda";
    case V9FS_MAGIC: return "9P";
    case 0x00C36400UL: return "Ceph";
    case FUSE_SUPER_MAGIC: return "FUSE";
    case 0x01161970UL: return "GFS2";
    case 0x7461636FUL: return "OCFS2";
    case 0x0BD00BD0UL: return "Lustre";
    case 0x47504653UL: return "GPFS";
    default: return nullptr;
  }
}

// However SQLite's users write it.
bool names_memory(const Url& url) {
  const auto mode = url.query.find("mode");
  return url.hosts == ":memory:" || url.path.ends_with(":memory:") ||
         (mode != url.query.end() && mode->second == "memory");
}

}  // namespace

Result<StoreOptions> store_options(const Url& url) {
  if (names_memory(url)) {
    return Failure(Code::invalid_argument,
                   "a sqlite URL names a file: a database in memory is seen by one connection "
                   "alone, so its locks "
                   "exclude nobody. For tests write memory:, or memory:NAME for locks that all "
                   "clients of this process "
                   "share, or use TestWorld (holdfast/testing.h)");
  }
  UrlReader reader(url, "write sqlite:///absolute/path or sqlite:relative/path");
  reader.require(url.hosts.empty() && url.user.empty(), "a sqlite URL names a file, no host");
  reader.require(!url.path.empty() && !url.path.ends_with('/'), "the sqlite URL names no file");
  reader.require(url.path.find('\0') == std::string::npos, "the path contains a NUL byte");
  StoreOptions options{.path = url.path};
  if (const std::string* sync = reader.option("sync")) {
    // Not the value: people put passwords anywhere.
    reader.require(*sync == "full" || *sync == "normal", "sync is normal or full");
    options.sync_every_commit = *sync == "full";
  }
  reader.text("group", options.group, 255);
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  return options;
}

Result<Ownership> ownership_of(const StoreOptions& options) {
  if (options.group.empty()) return Ownership::of_this_process();
  Result<SharedGroup> group = SharedGroup::find(options.group);
  if (!group) return group.failure();
  return Ownership::of_this_process(std::move(*group));
}

namespace {

Failure unusable(const std::filesystem::path& path, const std::string& why) {
  return {Code::misconfigured, "the lock database " + path.string() + ": " + why};
}

// The path without symbolic links, of a file that is there now, made if it was missing.
Result<std::filesystem::path> find_or_make(const std::filesystem::path& path,
                                           const Ownership& ownership) {
  // mknod and stat, never open and close: closing any descriptor of the file would free the locks
  // that SQLite holds on it for another client of this process.
  if (mknod(path.c_str(), S_IFREG | 0600, 0) != 0 && errno != EEXIST) {
    if (errno == ENOENT) {
      return unusable(path, "its directory does not exist; create it first");
    }
    return unusable(path, std::string("cannot be created (") + std::strerror(errno) +
                              "); check the permissions of its directory");
  }
  // Through a stranger's link we would be led to a database of the stranger's choice.
  const std::optional<struct stat> named = status_of(path.string());
  if (named && S_ISLNK(named->st_mode)) require_owner(*named, path.string(), ownership);
  std::error_code error;
  std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return unusable(path, "cannot be resolved (" + error.message() + ")");
  require_parent(real, ownership);
  return real;
}

// Whether every user may give a second name to a file of root's. As root, SQLite makes the owner of the database the
// owner of its log.
bool users_link_files_of_others() {
  char word = '1';
  const int descriptor = open("/proc/sys/fs/protected_hardlinks", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool known = read(descriptor, &word, 1) == 1;
  close(descriptor);
  return known && word == '0';
}

// The same for a group. Its members may be hostile to each other, and can put links under every name in the directory:
// so no link is followed there, and all is made before it can be found (see shared_files.h). The log and its index
// are made with the database and not later, because their absence tells that they were removed.
Result<std::filesystem::path> find_or_make_shared(const std::filesystem::path& path,
                                                  const Ownership& ownership) {
  if (users_link_files_of_others()) {
    return unusable(path,
                    "users may link files of others on this machine, which a member of the group "
                    "could turn against root; run sysctl fs.protected_hardlinks=1");
  }
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::optional<struct stat> named = status_of(folder.string());
  if (!named) {
    std::error_code error;
    const std::filesystem::path above = std::filesystem::canonical(folder.parent_path(), error);
    if (error) return unusable(path, "the directory above its own does not exist; create it first");
    require_parent(above / folder.filename(), {.user = ownership.user, .writers = 0, .group = {}});
    make_shared_directory((above / folder.filename()).string(), *ownership.group);
    named = status_of(folder.string());
  }
  if (named && S_ISLNK(named->st_mode) && named->st_uid != 0) {
    return unusable(path, "its directory is a symbolic link; name the directory itself");
  }
  const std::filesystem::path real = std::filesystem::canonical(folder) / path.filename();
  require_parent(real, ownership);
  if (!status_of(real.string())) {
    for (const char* part : {"-wal", "-shm", ""}) {
      make_shared_file(real.string() + part, *ownership.group);
    }
  }
  const std::optional<struct stat> file = status_of(real.string());
  if (!file) return unusable(path, "it was removed while it was opened");
  require_file(*file, real.string(), ownership);
  return real;
}

}  // namespace

Result<std::filesystem::path> prepare_file(const std::filesystem::path& path,
                                           const Ownership& ownership) try {
  Result<std::filesystem::path> found =
      ownership.group ? find_or_make_shared(path, ownership) : find_or_make(path, ownership);
  if (!found) return found.failure();
  const std::filesystem::path& real = *found;
  const auto reason = [] { return std::string(std::strerror(errno)); };
  struct stat file{};
  if (stat(real.c_str(), &file) != 0) return unusable(path, reason());
  if (trusted(file.st_uid, ownership) && access(real.c_str(), R_OK | W_OK) != 0) {
    return unusable(path, "cannot be opened for writing (" + reason() +
                              "); check the permissions of the file and of its directory");
  }
  if (!S_ISREG(file.st_mode)) return unusable(path, "it is not a regular file");
  // Two names would have two write-ahead logs, and damage it.
  if (file.st_nlink > 1) return unusable(path, "it has several hard links; leave it only one");
  struct statfs file_system{};
  if (statfs(real.c_str(), &file_system) != 0) return unusable(path, reason());
  if (const char* kind = network_file_system(file_system.f_type)) {
    return unusable(path,
                    std::string("it is on a network file system (") + kind +
                        "), where file locks cannot be trusted; put it on a local disk, or use a "
                        "server engine");
  }
  return real;
} catch (const sqlite::Error& error) {
  return error.failure(path);
} catch (const std::system_error& error) {
  return unusable(path, std::string("cannot be used (") + error.what() +
                            "); check the permissions of its directory");
}

Prepared prepare_tables(sqlite::Database& database, const StoreOptions& options,
                        const Liveness& liveness, const Runtime& runtime, bool complete) {
  const Boot boot = Boot::current(runtime);
  const std::int64_t version = schema_version(database);
  // A copy made by a tool of SQLite's can be without a log.
  if (!complete && version != 0) database.execute("PRAGMA journal_mode = WAL");
  if (version != kSchemaVersion || !boot.is_that_of(database)) {
    // These settings must survive a power cut, whatever the caller chose.
    // Our rows are short, and every commit writes and sums up whole pages: small ones are faster.
    if (version == 0) database.execute("PRAGMA page_size = 1024");
    database.execute("PRAGMA journal_mode = WAL");
    database.execute("PRAGMA synchronous = FULL");
    sqlite::Transaction transaction(database);
    const std::int64_t found = schema_version(database);
    if (found == 0) database.execute(kCreate);
    if (found == 1) database.execute(kUpgrade);
    boot.enter(database, liveness);
    transaction.commit();
  }
  database.execute("PRAGMA cache_size = -16000");  // KiB, taken as needed: for many held locks
  database.execute(options.sync_every_commit ? "PRAGMA synchronous = FULL"
                                             : "PRAGMA synchronous = NORMAL");
  sqlite::Statement floor(database, "SELECT token_floor FROM meta");
  auto row = floor.run();
  row.next();
  return {.boot = boot.id(), .token_floor = row.number(0)};
}

}  // namespace holdfast::internal
