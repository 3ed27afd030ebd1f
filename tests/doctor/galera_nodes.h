// GaleraNodes: two MariaDB servers of Debian that form a Galera cluster, on free ports of 127.0.0.1.
//
// Thread safety: what is const, by any thread.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "mariadb_client.h"
#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

class GaleraNodes {
 public:
  // Returns when both are in sync, with an empty database `holdfast`: after about eight seconds.
  GaleraNodes();

  int port(std::size_t node) const { return ports_.at(node); }
  std::string url(std::size_t node, const std::string& recipe) const {
    return "mysql://root@127.0.0.1:" + std::to_string(port(node)) + "/holdfast?recipe=" + recipe;
  }

 private:
  void start(std::size_t node, const std::string& peers);
  std::string value(std::size_t node, const std::string& sql) const;

  TempDir directory_;
  std::array<int, 2> ports_{};
  std::array<int, 2> group_ports_{};
  std::array<std::unique_ptr<ServerProcess>, 2> processes_;
};

}  // namespace holdfast::test
