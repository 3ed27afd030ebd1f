#include <unistd.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "holdfast/client.h"
#include "lab/torture/profile.h"
#include "lab/torture/sites.h"
#include "product.h"
#include "server_process.h"
#include "vdso_clock.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

using test::Product;
using test::ServerKind;

// Nothing, or which of the programs is to be installed.
std::optional<std::string> missing_if(const std::function<void()>& find) {
  try {
    find();
    return std::nullopt;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::optional<std::string> nothing_missing() { return std::nullopt; }

std::optional<std::string> redis_missing() {
  return missing_if([] {
    const Product product = Product::of(ServerKind::redis);
    product.program(product.name() + "-server");
  });
}

std::optional<std::string> memcached_missing() {
  return missing_if([] { Product::of(ServerKind::memcached).program("memcached"); });
}

std::optional<std::string> etcd_missing() {
  return missing_if([] {
    const Product product = Product::of(ServerKind::etcd);
    product.program("etcd");
    product.program("etcdctl");
  });
}

std::optional<std::string> mysql_missing() {
  return missing_if([] {
    const Product product = Product::of(ServerKind::mysql);
    product.program(product.is("mysql") ? "mysqld" : "mariadb-install-db");
  });
}

std::optional<std::string> postgres_missing() {
  return missing_if([] {
    Product::of(ServerKind::postgresql).program("postgres");
    test::find_program("cp", "coreutils");
    // It refuses to be root.
    if (geteuid() == 0) test::find_program("setpriv", "util-linux");
  });
}

std::optional<std::string> zookeeper_missing() {
  return missing_if([] {
    Product::of(ServerKind::zookeeper).jar("zookeeper");
    test::find_program("java", "default-jre-headless");
  });
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
                  .missing = etcd_missing,
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
  add("postgres", "PostgreSQL, lock table", "table", open_postgres, postgres_missing);
  add("postgres-advisory", "PostgreSQL, advisory locks", "advisory", open_postgres,
      postgres_missing);
  add("mysql", "MariaDB or MySQL, lock table", "table", open_mysql, mysql_missing);
  add("mysql-named", "MariaDB or MySQL, GET_LOCK", "named", open_mysql, mysql_missing);
}

std::vector<Profile> all_profiles() {
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
                  .missing = redis_missing,
                  .open = open_redis});
  list.push_back(
      {.name = "redlock",
       .about = "Redlock of five Redis servers",
       .can = {Can::cut_links, Can::pause_servers, Can::restart_empty, Can::restart_full,
               Can::lose_a_second, Can::move_wall, Can::restore, Can::stall_disk, Can::fill_memory},
       .quorum = true,
       .wall_clock_ttl = true,
       .waits_for_the_clock = true,
       .missing = redis_missing,
       .open = open_redlock});
  list.push_back({.name = "memcached",
                  .about = "one Memcached server",
                  .ttl = 3s,
                  .can = {Can::cut_links, Can::pause_servers, Can::restart_empty, Can::move_wall,
                          Can::move_monotonic, Can::fill_memory},
                  .missing = memcached_missing,
                  .open = open_memcached});
  add_agreeing(list);
  add_databases(list);
  return list;
}

// Whether the build has its engine: an option may have left it out.
bool built_in(const Profile& profile) {
  const std::string family = profile.name.substr(0, profile.name.find('-'));
  return std::ranges::any_of(Client::engines(), [&](const Client::BuiltIn& engine) {
    return engine.example_url.starts_with(family);
  });
}

}  // namespace

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> built = [] {
    std::vector<Profile> list = all_profiles();
    std::erase_if(list, [](const Profile& profile) { return !built_in(profile); });
    return list;
  }();
  return built;
}

const Profile* find_profile(const std::string& name) {
  for (const Profile& profile : profiles()) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

}  // namespace holdfast::lab
