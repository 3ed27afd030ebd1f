// A raw client that knows pairs, and pairs in flight on its one connection, as a worker (worker.h).
#pragma once

#include <optional>
#include <string>

#include "report.h"
#include "serve.h"
#include "timing.h"
#include "worker.h"

namespace holdfast::bench {

// `Raw` is made of host and port; it has prepare(name), pair(name) and flight(count, seconds).
template <class Raw>
int be_requests_worker(const std::string& url) {
  const std::string host = url.substr(url.find("://") + 3);
  const std::size_t colon = host.rfind(':');
  std::optional<Raw> raw;
  return serve([&] { raw.emplace(host.substr(0, colon), std::stoi(host.substr(colon + 1))); },
               [&](const std::string& verb, std::istringstream& words) -> std::string {
                 double seconds = 0;
                 if (verb == "pairs") {
                   std::string name;
                   words >> name >> seconds;
                   raw->prepare(name);
                   return time_pairs(seconds, [&] { raw->pair(name); });
                 }
                 if (verb == "flight") {
                   int count = 0;
                   words >> count >> seconds;
                   return format("%.1f", raw->flight(count, seconds));
                 }
                 return kUnknownLine;
               });
}

}  // namespace holdfast::bench
