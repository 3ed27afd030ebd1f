// Daemon: a `holdfast serve` of a test; DaemonTest: a temporary directory, daemons, and what tests ask them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "cli_fixture.h"
#include "http_client.h"

namespace holdfast::test {

using Json = nlohmann::json;

class Daemon {
 public:
  // Waits until it listens, or has ended. `files`: how many descriptors it may have; 0: as many as we. On a free port of loopback, unless the words have a --listen.
  explicit Daemon(Words words, int files = 0) : process_(command(std::move(words), files)) {
    listening_ =
        eventually([&] { return process_.out().ends_with('\n') || !process_.running(); }) &&
        process_.out().ends_with('\n');
    const std::string out = process_.out();
    const std::size_t colon = out.rfind(':');
    if (listening_ && out.find("unix:") == std::string::npos)
      port_ = std::atoi(out.c_str() + colon + 1);
  }

  bool listening() const { return listening_; }
  int port() const { return port_; }
  Process& process() { return process_; }

  Answer ask(Ask ask) const { return ask_once(port_, std::move(ask)); }
  Answer get(const std::string& target) const { return ask({.target = target}); }
  Answer post(const std::string& target, const nlohmann::json& body,
              std::map<std::string, std::string> headers = {}) const {
    return ask(
        {.method = "POST", .target = target, .body = body.dump(), .headers = std::move(headers)});
  }
  // A connection that has asked, and has not read the answer.
  HttpClient begin(const Ask& ask) const {
    HttpClient client(port_);
    EXPECT_TRUE(client.send(request_text(ask)));
    return client;
  }

 private:
  static Words command(Words words, int files) {
    bool somewhere = false;
    for (const std::string& each : words) somewhere = somewhere || each == "--listen";
    words.insert(words.begin(), {HOLDFAST_SERVE_BINARY, "serve"});
    if (!somewhere) words.insert(words.end(), {"--listen", "127.0.0.1:0"});
    if (files > 0) {
      words.insert(words.begin(),
                   {"sh", "-c", "ulimit -n " + std::to_string(files) + " && exec \"$@\"", "sh"});
    }
    return words;
  }

  Process process_;
  bool listening_ = false;
  int port_ = 0;
};

class DaemonTest : public CliTest {
 protected:
  Daemon serve(Words words = {}) const {
    Words all = {"--on", url()};
    all.insert(all.end(), words.begin(), words.end());
    return Daemon(std::move(all));
  }
  // A file with these permissions.
  std::string file(const std::string& name, const std::string& content, mode_t mode = 0600) const {
    std::ofstream(path(name)) << content;
    chmod(path(name).c_str(), mode);
    return path(name);
  }

  static Ask acquiring(const std::string& name,
                       const nlohmann::json& body = nlohmann::json::object()) {
    return {.method = "POST", .target = "/v1/locks/" + name, .body = body.dump()};
  }
  static Ask holding(const std::string& name,
                     const nlohmann::json& body = nlohmann::json::object()) {
    return {.method = "POST", .target = "/v1/locks/" + name + "/hold", .body = body.dump()};
  }
};

// The lock as the daemon's engine has it now.
inline nlohmann::json lock_at(const Daemon& daemon, const std::string& name,
                              const std::string& engine = {}) {
  return daemon.get("/v1/locks/" + name + (engine.empty() ? "" : "?engine=" + engine)).json();
}
inline std::size_t holders_of(const Daemon& daemon, const std::string& name) {
  const nlohmann::json lock = lock_at(daemon, name);
  return lock.contains("holders") ? lock["holders"].size() : 99;
}
inline std::size_t waiters_of(const Daemon& daemon, const std::string& name) {
  const nlohmann::json lock = lock_at(daemon, name);
  return lock.contains("waiters") ? lock["waiters"].size() : 99;
}
inline bool becomes_free(const Daemon& daemon, const std::string& name) {
  return eventually([&] { return holders_of(daemon, name) == 0 && waiters_of(daemon, name) == 0; });
}

// The resident memory of a process.
inline long memory_mb(pid_t pid) {
  const std::string status = read_all("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::atol(status.c_str() + at + 6) / 1024;
}

}  // namespace holdfast::test
