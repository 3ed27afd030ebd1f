// How the servers of each engine are started: see Profile.
#pragma once

#include <memory>
#include <string>

#include "lab/torture/site.h"

namespace holdfast::lab {

std::unique_ptr<Site> open_sqlite(const SiteOptions& options);
std::unique_ptr<Site> open_redis(const SiteOptions& options);
std::unique_ptr<Site> open_redlock(const SiteOptions& options);
std::unique_ptr<Site> open_memcached(const SiteOptions& options);
std::unique_ptr<Site> open_zookeeper(const SiteOptions& options);  // three that agree
std::unique_ptr<Site> open_etcd(const SiteOptions& options);       // three that agree
// With one of the recipes of these engines.
std::unique_ptr<Site> open_postgres(const std::string& recipe, const SiteOptions& options);
std::unique_ptr<Site> open_mysql(const std::string& recipe, const SiteOptions& options);

}  // namespace holdfast::lab
