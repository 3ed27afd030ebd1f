#include <filesystem>
#include <stdexcept>

#include "lab/torture/profile.h"
#include "lab/torture/sites.h"
#include "server_process.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

// "", or what to install.
auto needs(std::string program, std::string package) {
  return
      [program = std::move(program), package = std::move(package)]() -> std::optional<std::string> {
        try {
          test::find_program(program, package);
          return std::nullopt;
        } catch (const std::runtime_error& error) {
          return error.what();
        }
      };
}

std::optional<std::string> nothing_missing() { return std::nullopt; }

std::vector<Profile> all() {
  std::vector<Profile> list;
  list.push_back({.name = "sqlite",
                  .about = "the embedded default: a file on this machine",
                  .dead_seen_at_once = true,
                  .missing = nothing_missing,
                  .open = open_sqlite});
  list.push_back({.name = "redis",
                  .about = "one Redis server",
                  .can = {Can::cut_links, Can::pause_servers, Can::restart_empty, Can::restart_full,
                          Can::lose_a_second, Can::move_wall, Can::fail_over},
                  .wall_clock_ttl = true,
                  .missing = needs("redis-server", "redis-server"),
                  .open = open_redis});
  list.push_back({.name = "redlock",
                  .about = "Redlock of five Redis servers",
                  .can = {Can::cut_links, Can::pause_servers, Can::restart_empty, Can::restart_full,
                          Can::lose_a_second, Can::move_wall},
                  .quorum = true,
                  .wall_clock_ttl = true,
                  .missing = needs("redis-server", "redis-server"),
                  .open = open_redlock});
  list.push_back({.name = "memcached",
                  .about = "one Memcached server",
                  .ttl = 3s,
                  .can = {Can::cut_links, Can::pause_servers, Can::restart_empty, Can::move_wall,
                          Can::move_monotonic},
                  .missing = needs("memcached", "memcached"),
                  .open = open_memcached});
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

Profile profile_of_url(const std::string& url) {
  const std::string scheme = url.substr(0, url.find(':'));
  return {.name = scheme.empty() ? "sqlite" : scheme,
          .about = "your own",
          .ttl = 5s,
          .missing = nothing_missing,
          .open = [url](const SiteOptions&) {
            return std::make_unique<Site>(
                std::vector<std::unique_ptr<SiteServer>>(),
                [url](const std::vector<int>&) { return url; }, false);
          }};
}

}  // namespace holdfast::lab
