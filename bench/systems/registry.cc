#include "kinds.h"

namespace holdfast::bench {

const std::vector<SystemKind>& systems() {
  static const std::vector<SystemKind> all{embedded_kind(),  redis_kind(),     redlock_kind(),
                                           memcached_kind(), zookeeper_kind(), etcd_kind(),
                                           postgres_kind(),  mysql_kind()};
  return all;
}

Entrant own_entrant(std::string name, Role role, const std::string& system,
                    const std::string& worker, std::string url) {
  return {.name = std::move(name),
          .role = role,
          .command = {"/proc/self/exe", "worker", system, worker},
          .url = std::move(url)};
}

std::vector<Entrant> all_entrants(const std::string& system, const std::string& raw_name) {
  std::vector<Entrant> all{holdfast_entrant(), own_entrant(raw_name, Role::raw, system, "raw")};
  for (Entrant& peer : installed_peers(system)) all.push_back(std::move(peer));
  return all;
}

}  // namespace holdfast::bench
