// The daemon's command line, checked.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collector.h"
#include "holdfast/log.h"
#include "holdfast/time.h"

namespace holdfast::cli::serve {

struct EngineSettings {
  std::string name;  // as requests name it
  std::string url;
};

struct Listen {
  std::string host;  // an IP address; empty for a unix socket
  unsigned short port = 0;
  std::string path;  // of a unix socket
  bool loopback = true;

  bool is_unix() const { return !path.empty(); }
};

struct Settings {
  std::vector<EngineSettings> engines;
  Listen listen;
  std::string token;  // empty: nobody is asked for one
  std::string tls_cert;
  std::string tls_key;
  std::vector<std::string> hosts;  // further names by which browsers reach the daemon
  bool read_only = false;
  std::optional<Collector> collector;  // where traces go
  std::optional<LogOptions> log;

  bool tls() const { return !tls_cert.empty(); }
};

inline constexpr std::size_t kMaxBodyBytes = 65536;
inline constexpr std::size_t kMaxHeaderBytes =
    16384 * 3 + 8192;  // a name of 16 KiB, percent-encoded
inline constexpr std::size_t kMaxConnections = 20'000;
inline constexpr std::chrono::seconds kIdle{75};  // between two requests of a connection
inline constexpr std::chrono::seconds kRequestTime{
    15};  // from the first byte of a request to its last
inline constexpr std::chrono::seconds kWriteTime{20};    // for a reader that does not read
inline constexpr std::chrono::minutes kLongestWait{10};  // of a held request

}  // namespace holdfast::cli::serve
