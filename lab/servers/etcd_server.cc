#include "etcd_server.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <stdexcept>

#include "certificates.h"
#include "waiting.h"

namespace holdfast::test {

EtcdServer::EtcdServer(EtcdOptions options) : options_(std::move(options)) {
  members_.resize(static_cast<std::size_t>(options_.count));
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i].name = "m" + std::to_string(i);
  for (int attempt = 1;; ++attempt) {
    choose_ports();
    try {
      start_all();
      break;
    } catch (const std::runtime_error&) {
      // Somebody else on this machine was faster.
      bool taken = false;
      for (const Member& member : members_) {
        const std::string said = member.process ? member.process->log() : "";
        taken = taken || said.find("address already in use") != std::string::npos;
      }
      if (!taken || attempt == 5) throw;
      for (Member& member : members_) {
        member.process.reset();
        std::filesystem::remove_all(directory_.path() / member.name);
        std::filesystem::remove(directory_.path() / (member.name + ".log"));
      }
    }
  }
  if (!options_.password.empty()) require_login();
}

void EtcdServer::choose_ports() {
  for (Member& member : members_) {
    member.port = free_port();
    member.peer_port = free_port();
  }
}

std::string EtcdServer::cluster() const {
  std::string cluster;
  for (const Member& member : members_) {
    cluster += (cluster.empty() ? "" : ",") + member.name +
               "=http://127.0.0.1:" + std::to_string(member.peer_port);
  }
  return cluster;
}

std::vector<std::string> EtcdServer::command_line(const Member& member,
                                                  const std::string& cluster) const {
  const std::string clients = scheme() + "127.0.0.1:" + std::to_string(member.port);
  const std::string peers = "http://127.0.0.1:" + std::to_string(member.peer_port);
  std::vector<std::string> words{product_.program("etcd")};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  add({"--name", member.name, "--data-dir", (directory_.path() / member.name).string()});
  add({"--listen-client-urls", clients, "--advertise-client-urls", clients});
  add({"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers});
  add({"--initial-cluster", cluster, "--initial-cluster-token", directory_.path().string()});
  add({"--heartbeat-interval", "50", "--election-timeout", "250", "--log-level", "error"});
  add({"--logger", "zap", "--log-outputs", "stderr"});
  if (options_.tls) {
    const Certificates& certificates = Certificates::shared();
    add({"--cert-file", certificates.server_certificate()});
    add({"--key-file", certificates.server_key()});
    // With authorities for clients, etcd asks every client for a certificate.
    if (options_.client_certificates) {
      add({"--client-cert-auth", "--trusted-ca-file", certificates.ca()});
    }
  }
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  return words;
}

void EtcdServer::start(Member& member) {
  product_.report();
  const std::filesystem::path data = directory_.path() / member.name;
  std::filesystem::create_directories(data);
  std::filesystem::permissions(data, std::filesystem::perms::owner_all);
  member.paused = false;
  member.process = std::make_unique<ServerProcess>(command_line(member, cluster()),
                                                   directory_.path() / (member.name + ".log"));
  member.clock.reset();
}

void EtcdServer::start_all() {
  for (Member& member : members_) start(member);
  wait_until_ready();
}

void EtcdServer::wait_until_ready() const {
  wait_for("etcd to answer", [this] {
    for (const Member& member : members_) {
      if (!member.paused && !member.process->running()) {
        // Waiting does not mend that.
        if (member.process->log().find("address already in use") != std::string::npos) return true;
      }
    }
    int status = 0;
    ctl({"--command-timeout=1s", "get", "no such key"}, status);
    return status == 0;
  });
  for (const Member& member : members_) {
    if (member.process->log().find("address already in use") != std::string::npos) {
      throw std::runtime_error("etcd has ended: " + member.process->log());
    }
  }
}

void EtcdServer::require_login() {
  ctl({"user", "add", "root:" + options_.password});
  ctl({"user", "grant-role", "root", "root"});
  ctl({"auth", "enable"});
  login_ = true;
  wait_until_ready();
}

std::vector<int> EtcdServer::ports() const {
  std::vector<int> ports;
  for (const Member& member : members_) ports.push_back(member.port);
  return ports;
}

std::string EtcdServer::url() const { return url_of(ports()); }

std::string EtcdServer::url_of(const std::vector<int>& ports) const {
  std::string hosts;
  for (const int port : ports) {
    hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(port));
  }
  if (!options_.password.empty()) hosts = "root:" + options_.password + "@" + hosts;
  if (!options_.tls) return "etcd://" + hosts;
  const Certificates& certificates = Certificates::shared();
  std::string url = "etcds://" + hosts + "?ca=" + certificates.ca();
  if (options_.client_certificates) {
    url += "&cert=" + certificates.client_certificate() + "&key=" + certificates.client_key();
  }
  return url;
}

void EtcdServer::kill(std::size_t member) { members_.at(member).process->kill(); }

void EtcdServer::restart(std::size_t member) {
  members_.at(member).process->kill();
  start(members_.at(member));
  wait_until_ready();
  if (members_.at(member).ahead.count() != 0) set_clock(members_.at(member));
}

void EtcdServer::restart_dead() {
  std::vector<Member*> started;
  for (Member& member : members_) {
    if (member.process->running()) continue;
    start(member);
    started.push_back(&member);
  }
  wait_until_ready();
  for (Member* member : started) {
    if (member->ahead.count() != 0) set_clock(*member);
  }
}

void EtcdServer::jump_clock(std::size_t member, std::chrono::seconds by) {
  members_.at(member).ahead += by;
  if (members_.at(member).process->running()) set_clock(members_.at(member));
}

void EtcdServer::set_clock(Member& member) {
  if (!member.clock) member.clock = std::make_unique<VdsoClock>(member.process->pid());
  member.clock->set_ahead(member.ahead);
}

void EtcdServer::pause(std::size_t member) {
  members_.at(member).process->pause();
  members_.at(member).paused = true;
}

void EtcdServer::resume(std::size_t member) {
  members_.at(member).process->resume();
  members_.at(member).paused = false;
}

std::optional<std::size_t> EtcdServer::find_leader() const {
  int status = 0;
  const std::string said =
      ctl({"--command-timeout=1s", "endpoint", "status", "--write-out=fields"}, status);
  // One paragraph per member that answers: "MemberID" : 1 … "Leader" : 2 … "Endpoint" : "URL".
  static const std::regex fields(R"re("(MemberID|Leader|Endpoint)" : "?([^"\n]+))re");
  std::string member_id;
  std::string leader_id;
  for (std::sregex_iterator field(said.begin(), said.end(), fields), end; field != end; ++field) {
    const std::string value = (*field)[2];
    if ((*field)[1] == "MemberID") member_id = value;
    if ((*field)[1] == "Leader") leader_id = value;
    if ((*field)[1] != "Endpoint" || member_id != leader_id) continue;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (value.ends_with(":" + std::to_string(members_[i].port))) return i;
    }
  }
  return std::nullopt;
}

std::size_t EtcdServer::leader() const {
  std::optional<std::size_t> leader;
  wait_for("a leader", [&] { return (leader = find_leader()).has_value(); });
  return *leader;
}

std::vector<std::string> EtcdServer::ctl_command() const {
  std::string endpoints;
  for (const Member& member : members_) {
    if (member.paused || !member.process || !member.process->running()) continue;
    endpoints +=
        (endpoints.empty() ? "" : ",") + scheme() + "127.0.0.1:" + std::to_string(member.port);
  }
  std::vector<std::string> words{product_.program("etcdctl"), "--endpoints", endpoints};
  if (options_.tls) {
    const Certificates& certificates = Certificates::shared();
    words.insert(words.end(), {"--cacert", certificates.ca()});
    if (options_.client_certificates) {
      words.insert(words.end(), {"--cert", certificates.client_certificate(), "--key",
                                 certificates.client_key()});
    }
  }
  if (login_) words.insert(words.end(), {"--user", "root:" + options_.password});
  return words;
}

std::string EtcdServer::ctl(const std::vector<std::string>& words, int& status) const {
  std::vector<std::string> command = ctl_command();
  command.insert(command.end(), words.begin(), words.end());
  const TempDir output;
  ServerProcess etcdctl(command, output.path() / "output");
  status = etcdctl.wait();
  return etcdctl.log();
}

std::string EtcdServer::ctl(const std::vector<std::string>& words) const {
  int status = 0;
  std::string said = ctl(words, status);
  if (status != 0) throw std::runtime_error("etcdctl " + words.front() + ": " + said);
  return said;
}

std::string EtcdServer::restore_program() const {
  try {
    return product_.program("etcdutl");
  } catch (const std::runtime_error&) {
    // Debian has none with etcd 3.4. Since 3.6 etcdctl has no such command any more.
    int major = 0;
    int minor = 0;
    const int read = std::sscanf(product_.version().c_str(), "%d.%d", &major, &minor);
    const bool by_etcdctl = read == 2 && (major < 3 || (major == 3 && minor < 6));
    return by_etcdctl ? product_.program("etcdctl") : "";
  }
}

void EtcdServer::restore(const std::filesystem::path& snapshot, std::size_t member) const {
  const Member& restored = members_.at(member);
  const std::string peer = "http://127.0.0.1:" + std::to_string(restored.peer_port);
  std::filesystem::remove_all(data(member));
  const TempDir output;
  ServerProcess restoring({restore_program(), "snapshot", "restore", snapshot.string(), "--name",
                           restored.name, "--data-dir", data(member).string(), "--initial-cluster",
                           restored.name + "=" + peer, "--initial-advertise-peer-urls", peer},
                          output.path() / "output");
  if (restoring.wait() != 0) throw std::runtime_error("snapshot restore: " + restoring.log());
}

}  // namespace holdfast::test
