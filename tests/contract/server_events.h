// Shared by the tests of what the observer hears of servers.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "contract.h"

namespace holdfast::contract {

// Keeps what it hears.
class ServerEvents final : public Observer {
 public:
  void on_server(const ServerEvent& event) override {
    const std::lock_guard lock(mutex_);
    heard_.push_back(event);
  }
  std::vector<ServerEvent> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  // "connected", "disconnected", in order, by server.
  std::map<std::string, std::vector<std::string>> by_server() const {
    std::map<std::string, std::vector<std::string>> all;
    for (const ServerEvent& event : heard()) {
      all[event.server].emplace_back(server_event_name(event.kind));
    }
    return all;
  }
  std::size_t count(ServerEventKind kind) const {
    const std::vector<ServerEvent> all = heard();
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const ServerEvent& each) { return each.kind == kind; }));
  }
  // All of it, for messages of failed tests.
  std::string text() const {
    std::string all;
    for (const ServerEvent& event : heard()) {
      all += std::string(server_event_name(event.kind)) + " " + event.server +
             (event.why ? ": " + event.why->message() : "") + "\n";
    }
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<ServerEvent> heard_;
};

// What of the events breaks a promise of observer.h; empty if nothing.
inline std::string broken_promise(const ServerEvents& events) {
  for (const ServerEvent& event : events.heard()) {
    const bool good =
        event.kind == ServerEventKind::connected || event.kind == ServerEventKind::reconnected;
    if (event.server.empty()) return "an event without a server\n" + events.text();
    if (good == event.why.has_value()) return "a reason too much, or none\n" + events.text();
    if (event.why && event.why->message().empty()) return "an empty reason\n" + events.text();
  }
  for (const auto& [server, kinds] : events.by_server()) {
    bool works = false;
    for (const std::string& kind : kinds) {
      const bool begins = kind == "connected" || kind == "reconnected";
      if (begins && works) return server + " works twice\n" + events.text();
      if (kind == "disconnected" && !works) return server + " ends twice\n" + events.text();
      if (kind != "error") works = begins;
    }
  }
  return "";
}

}  // namespace holdfast::contract
