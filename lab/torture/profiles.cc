#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "lab/torture/profile.h"
#include "lab/torture/sites.h"
#include "server_process.h"
#include "vdso_clock.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

struct Program {
  std::string name;
  std::string package;
};

// Nothing, or which of them is to be installed.
auto needs(std::vector<Program> programs) {
  return [programs = std::move(programs)]() -> std::optional<std::string> {
    try {
      for (const Program& program : programs) test::find_program(program.name, program.package);
      return std::nullopt;
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  };
}

std::optional<std::string> nothing_missing() { return std::nullopt; }

// PostgreSQL's programs are not in PATH.
std::optional<std::string> postgres_missing() {
  std::error_code ignored;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (!std::filesystem::exists(version.path() / "bin" / "postgres")) continue;
    // It refuses to be root.
    if (geteuid() == 0) return needs({{"cp", "coreutils"}, {"setpriv", "util-linux"}})();
    return needs({{"cp", "coreutils"}})();
  }
  return needs({{"postgres", "postgresql"}})();
}

std::optional<std::string> zookeeper_missing() {
  if (!std::filesystem::exists("/usr/share/java/zookeeper.jar")) {
    return "zookeeper.jar not found; apt-get install zookeeper";
  }
  return needs({{"java", "default-jre-headless"}})();
}

void add_agreeing(std::vector<Profile>& list) {
  const std::set<Can> can = {Can::cut_links, Can::pause_servers, Can::restart_full, Can::move_wall,
                             Can::restore};
  std::set<Can> can_etcd = can;
  if (!test::VdsoClock::works_here()) can_etcd.erase(Can::move_wall);
  // etcd asks the kernel by itself, past any library that could stall its disk.
  std::set<Can> can_zookeeper = can;
  can_zookeeper.insert(Can::stall_disk);
  list.push_back({.name = "zookeeper",
                  .about = "three ZooKeeper servers that agree",
                  .can = can_zookeeper,
                  .consensus = true,
                  .missing = zookeeper_missing,
                  .open = open_zookeeper});
  list.push_back({.name = "etcd",
                  .about = "three etcd members that agree",
                  .can = can_etcd,
                  .consensus = true,
                  .missing = needs({{"etcd", "etcd-server"}, {"etcdctl", "etcd-client"}}),
                  .open = open_etcd});
}

// A lock is a row with an expiry by the server's clock (table), or lives in a session.
void add_databases(std::vector<Profile>& list) {
  const std::set<Can> can = {Can::cut_links, Can::pause_servers, Can::restart_full,
                             Can::move_wall, Can::kill_sessions, Can::fail_over,
                             Can::restore,   Can::stall_disk,    Can::set_defaults};
  const auto add = [&](const char* name, const char* about, const std::string& recipe,
                       std::unique_ptr<Site> (*open)(const std::string&, const SiteOptions&),
                       auto missing) {
    const bool table = recipe == "table";
    list.push_back(
        {.name = name,
         .about = about,
         .can = can,
         .wall_clock_ttl = table,
         .session_hold = !table,
         .database = true,
         .missing = missing,
         .open = [open, recipe](const SiteOptions& options) { return open(recipe, options); }});
  };
  const auto mariadb =
      needs({{"mariadbd", "mariadb-server"}, {"mariadb-install-db", "mariadb-server"}});
  add("postgres", "PostgreSQL, lock table", "table", open_postgres, postgres_missing);
  add("postgres-advisory", "PostgreSQL, advisory locks", "advisory", open_postgres,
      postgres_missing);
  add("mysql", "MariaDB, lock table", "table", open_mysql, mariadb);
  add("mysql-named", "MariaDB, GET_LOCK", "named", open_mysql, mariadb);
}

std::vector<Profile> all() {
  std::vector<Profile> list;
  list.push_back({.name = "sqlite",
                  .about = "the embedded default: a file on this machine",
                  .can = {Can::restore},
                  .missing = nothing_missing,
                  .open = open_sqlite});
  list.push_back({.name = "redis",
                  .about = "one Redis server",
                  .can = {Can::cut_links, Can::pause_servers, Can::restart_empty, Can::restart_full,
                          Can::lose_a_second, Can::move_wall, Can::fail_over, Can::restore,
                          Can::stall_disk, Can::fill_memory},
                  .wall_clock_ttl = true,
                  .waits_for_the_clock = true,
                  .missing = needs({{"redis-server", "redis-server"}}),
                  .open = open_redis});
  list.push_back(
      {.name = "redlock",
       .about = "Redlock of five Redis servers",
       .can = {Can::cut_links, Can::pause_servers, Can::restart_empty, Can::restart_full,
               Can::lose_a_second, Can::move_wall, Can::restore, Can::stall_disk, Can::fill_memory},
       .quorum = true,
       .wall_clock_ttl = true,
       .waits_for_the_clock = true,
       .missing = needs({{"redis-server", "redis-server"}}),
       .open = open_redlock});
  list.push_back({.name = "memcached",
                  .about = "one Memcached server",
                  .ttl = 3s,
                  .can = {Can::cut_links, Can::pause_servers, Can::restart_empty, Can::move_wall,
                          Can::move_monotonic, Can::fill_memory},
                  .missing = needs({{"memcached", "memcached"}}),
                  .open = open_memcached});
  add_agreeing(list);
  add_databases(list);
  return list;
}

}  // namespace

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> list = all();
  return list;
}

const Profile* find_profile(const std::string& name) {
  for (const Profile& profile : profiles()) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

}  // namespace holdfast::lab
