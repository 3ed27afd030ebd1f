// The parts of URLs that PostgreSQL and MySQL have in common.
#pragma once

#include <memory>

#include "engines/kit/url_reader.h"
#include "wire/server_group.h"

namespace holdfast::internal {

// The servers of scheme://HOST,HOST. Null for one; of several that replicate one another, the one that can be written
// is meant, and `endpoint` is the name of all.
inline std::shared_ptr<ServerGroup> read_servers(UrlReader& reader, std::uint16_t port,
                                                 Endpoint& endpoint) {
  const std::vector<Endpoint> servers = reader.servers(port);
  endpoint = servers.front();
  reader.require(servers.size() <= ServerGroup::kMax, "there are more than 16 servers");
  if (servers.size() == 1) return nullptr;
  auto group = std::make_shared<ServerGroup>(servers);
  endpoint = group->together();
  return group;
}

// The option socket=PATH; null if it is not given.
inline const std::string* read_socket_path(UrlReader& reader, bool several_servers) {
  const std::string* const path = reader.option("socket");
  reader.require(!path || !several_servers, "socket is one server, and there are several hosts");
  return path;
}

}  // namespace holdfast::internal
