// http_get: the least of HTTP that is enough to read the figures of a server on this machine.
#pragma once

#include <string>

namespace holdfast::bench {

// The whole answer, its head included. Throws if there is none.
std::string http_get(int port, const std::string& path);

}  // namespace holdfast::bench
