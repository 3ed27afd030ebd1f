// How the servers of each engine are started: see Profile.
#pragma once

#include <memory>

#include "lab/torture/site.h"

namespace holdfast::lab {

std::unique_ptr<Site> open_sqlite(const SiteOptions& options);
std::unique_ptr<Site> open_redis(const SiteOptions& options);
std::unique_ptr<Site> open_redlock(const SiteOptions& options);
std::unique_ptr<Site> open_memcached(const SiteOptions& options);

}  // namespace holdfast::lab
