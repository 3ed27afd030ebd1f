// EtcdServer: a real etcd of one member or a cluster of three, on free ports of 127.0.0.1, with its
// data in memory, quick elections, and therefore leases from 1 s on.
//
// Thread safety: what is const, by any thread; of the others one at a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "product.h"
#include "server_process.h"
#include "temp_dir.h"
#include "vdso_clock.h"

namespace holdfast::test {

struct EtcdOptions {
  bool tls = false;  // for clients, with Certificates::shared()
  int count = 1;
  bool client_certificates = false;    // with tls: refuses who has none
  std::string password;                // of the user root; empty: no login. No escape in an URL
  std::vector<std::string> arguments;  // of etcd; they win over ours
};

class EtcdServer {
 public:
  using Options = EtcdOptions;

  // Returns when a linearizable read answers: after about 200 ms.
  explicit EtcdServer(EtcdOptions options = {});

  // "etcd://[root:PW@]127.0.0.1:P1,127.0.0.1:P2,…", or "etcds://…?ca=FILE".
  std::string url() const;
  // The same, but with these ports (of proxies, or of some members only).
  std::string url_of(const std::vector<int>& ports) const;
  std::size_t size() const { return members_.size(); }
  int port(std::size_t member = 0) const { return members_.at(member).port; }
  std::vector<int> ports() const;
  pid_t pid(std::size_t member = 0) const { return members_.at(member).process->pid(); }
  std::string log(std::size_t member = 0) const { return members_.at(member).process->log(); }

  // The member that leads, as asked of the members that run and are not paused; waits for one.
  std::size_t leader() const;

  bool running(std::size_t member = 0) { return members_.at(member).process->running(); }
  void kill(std::size_t member = 0);     // SIGKILL; returns when it is gone
  void restart(std::size_t member = 0);  // kills it if it runs; same ports and data
  // Starts the members that do not run, all at once: alone, a minority would wait for ever.
  void restart_dead();
  std::filesystem::path data(std::size_t member = 0) const {
    return directory_.path() / members_.at(member).name;
  }
  void pause(std::size_t member = 0);
  void resume(std::size_t member = 0);
  // Its wall clock, which a restart does not set right. REQUIRES: VdsoClock::works_here().
  void jump_clock(std::size_t member, std::chrono::seconds by);
  // Waits until a linearizable read answers.
  void wait_until_ready() const;

  // The output of `etcdctl WORDS…`, asked of the members that run and are not paused. Throws
  // std::runtime_error with its output if it fails.
  std::string ctl(const std::vector<std::string>& words) const;
  // The same, without an exception: its exit status in `status`.
  std::string ctl(const std::vector<std::string>& words, int& status) const;
  // For tests that start etcdctl themselves: the program and the options that lead here.
  std::vector<std::string> ctl_command() const;
  // Makes the data of a member that was killed anew from a snapshot of `etcdctl snapshot save`, as a
  // cluster of its own. REQUIRES: one member, restore_program() is not empty.
  void restore(const std::filesystem::path& snapshot, std::size_t member = 0) const;
  // The program that does it: etcdutl, or etcdctl of before 3.6. Empty: this version's is not here.
  std::string restore_program() const;

 private:
  struct Member {
    std::string name;
    int port = 0;
    int peer_port = 0;
    std::unique_ptr<ServerProcess> process;
    bool paused = false;
    std::unique_ptr<VdsoClock> clock;  // once it was moved
    std::chrono::seconds ahead{};
  };

  std::vector<std::string> command_line(const Member& member, const std::string& cluster) const;
  std::string cluster() const;
  std::string scheme() const { return options_.tls ? "https://" : "http://"; }
  void choose_ports();
  void start(Member& member);
  void start_all();
  static void set_clock(Member& member);
  void require_login();
  std::optional<std::size_t> find_leader() const;

  const Product product_ = Product::of(ServerKind::etcd);
  const EtcdOptions options_;
  TempDir directory_;
  std::vector<Member> members_;
  bool login_ = false;  // the password is in force
};

}  // namespace holdfast::test
