#include "base/server_reporter.h"

#include <algorithm>

#include "holdfast/text.h"

namespace holdfast::internal {

ServerReporter::Server& ServerReporter::server_at(const std::string& name, BootTime now) {
  const auto found = servers_.find(name);
  if (found == servers_.end() && servers_.size() >= kMaxServers) {
    servers_.erase(
        std::ranges::min_element(servers_, {}, [](const auto& each) { return each.second.heard; }));
  }
  Server& server = found == servers_.end() ? servers_[name] : found->second;
  server.heard = now;
  return server;
}

bool ServerReporter::may_tell(Server& server, BootTime now) {
  if (server.budget == kBurst) server.refilled = now;
  const auto refills = (now - server.refilled) / kRefill;
  server.budget = static_cast<int>(std::min<Duration::rep>(server.budget + refills, kBurst));
  server.refilled += refills * kRefill;
  if (server.budget == 0) return false;
  --server.budget;
  return true;
}

bool ServerReporter::is_news(const Said& last, const Failure& why, BootTime now) {
  return last.text != why.message() || now - last.at >= kRepeat;
}

void ServerReporter::tell(ServerEventKind kind, const std::string& server, const Failure* why) {
  ServerEvent event{.kind = kind, .server = printable(server)};
  if (why) event.why = *why;
  observer_->on_server(event);
}

void ServerReporter::opened(const std::string& name, BootTime now) {
  Server& server = server_at(name, now);
  const bool first = !std::exchange(server.reached, true);
  const bool again = std::exchange(server.broken, false);
  server.failure = Said();
  if (first) {
    tell(ServerEventKind::connected, name, nullptr);
  } else if (again) {
    tell(ServerEventKind::reconnected, name, nullptr);
  }
}

void ServerReporter::failed_to_open(const std::string& name, const Failure& why, BootTime now) {
  Server& server = server_at(name, now);
  if (!is_news(server.failure, why, now) || !may_tell(server, now)) return;
  server.failure = {why.message(), now};
  server.broken = true;
  tell(ServerEventKind::connect_failed, name, &why);
}

void ServerReporter::lost(const std::string& name, const Failure& why, BootTime now) {
  Server& server = server_at(name, now);
  if (server.broken || !may_tell(server, now)) return;
  server.broken = true;
  tell(ServerEventKind::disconnected, name, &why);
}

void ServerReporter::refused(const std::string& name, const Failure& why, BootTime now) {
  Server& server = server_at(name, now);
  if (!is_news(server.refusal, why, now) || !may_tell(server, now)) return;
  server.refusal = {why.message(), now};
  tell(ServerEventKind::error, name, &why);
}

// ---- Of a runtime ------------------------------------------------------------------------------

void report_opened(Runtime& runtime, const std::string& server) {
  if (ServerReporter* const reporter = runtime.server_reporter()) {
    reporter->opened(server, runtime.now());
  }
}

void report_failed_to_open(Runtime& runtime, const std::string& server, const Failure& why) {
  if (ServerReporter* const reporter = runtime.server_reporter()) {
    reporter->failed_to_open(server, why, runtime.now());
  }
}

void report_lost(Runtime& runtime, const std::string& server, const Failure& why) {
  if (ServerReporter* const reporter = runtime.server_reporter()) {
    reporter->lost(server, why, runtime.now());
  }
}

void report_refused(Runtime& runtime, const std::string& server, const Failure& why) {
  if (ServerReporter* const reporter = runtime.server_reporter()) {
    reporter->refused(server, why, runtime.now());
  }
}

}  // namespace holdfast::internal
