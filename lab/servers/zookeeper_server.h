// ZooKeeperServer: a real ZooKeeper on a free port of 127.0.0.1, alone or as one of an ensemble.
// ZooKeeperEnsemble: several of them that elect a leader.
//
// Sessions can be as short as 200 ms here and as long as ten minutes: a tick is 100 ms.
//
// Thread safety: what is const, by any thread; of the others one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "movable_clock.h"
#include "product.h"
#include "proxy.h"
#include "server_process.h"
#include "temp_dir.h"

namespace holdfast::test {

struct ZooKeeperOptions {
  bool tls = false;  // a second port that speaks TLS with our certificates; url() leads there
  bool movable_clock = false;  // see clock()
  int tick_ms = 100;
  std::vector<std::string> settings = {};    // lines of zoo.cfg, after ours
  std::vector<std::string> properties = {};  // of the JVM: "zookeeper.NAME=VALUE"
  std::vector<std::string> jvm = {};         // more options of the JVM; they win over ours
};

class ZooKeeperServer {
 public:
  using Options = ZooKeeperOptions;

  // Returns when it serves.
  explicit ZooKeeperServer(ZooKeeperOptions options = {});

  std::string url() const;   // "zookeeper://127.0.0.1:P", or "zookeeper+tls://…?ca=FILE"
  std::string host() const;  // "127.0.0.1:P", for a list of several
  int port() const { return port_; }
  int tls_port() const { return tls_port_; }
  pid_t pid() const { return process_->pid(); }  // another one after restart()
  std::string log() const { return process_->log(); }
  // Where its snapshots and logs are.
  std::filesystem::path data() const { return directory_.path() / "data" / "version-2"; }

  bool running() { return process_->running(); }
  void kill() { process_->kill(); }
  void restart();  // kills it if it runs; same port, same data; returns when it serves
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }

  // Its wall clock, which a restart does not set right: never the monotonic one, which a JVM does
  // not survive. REQUIRES: ZooKeeperOptions::movable_clock.
  MovableClock& clock() { return *clock_; }

  // Its answer to a four-letter word ("srvr", "mntr", "dump", …); empty if it does not answer
  // within two seconds.
  std::string ask(const std::string& word) const;
  // "standalone", "leader", "follower", or empty while it does not serve.
  std::string mode() const;

 private:
  friend class ZooKeeperEnsemble;
  struct Member {
    int id = 0;
    std::vector<std::string> lines;  // server.N=… of all, as this one sees them
  };
  ZooKeeperServer(ZooKeeperOptions options, Member member, int port);

  void write_files();
  std::vector<std::string> command_line() const;
  void launch();
  void wait_until_it_serves();

  const Product product_ = Product::of(ServerKind::zookeeper);
  const ZooKeeperOptions options_;
  const Member member_;
  TempDir directory_;
  int port_ = 0;
  int tls_port_ = 0;
  std::unique_ptr<MovableClock> clock_;
  std::unique_ptr<ServerProcess> process_;
};

struct ZooKeeperEnsembleOptions {
  bool tls = false;
  int count = 3;
  // The first server reaches the others through proxies: see isolate_first().
  bool proxied_first = false;
  ZooKeeperOptions server = {};
};

class ZooKeeperEnsemble {
 public:
  using Options = ZooKeeperEnsembleOptions;

  // Returns when all of them serve.
  explicit ZooKeeperEnsemble(ZooKeeperEnsembleOptions options = {});

  std::string url() const;  // of all
  std::size_t size() const { return servers_.size(); }
  ZooKeeperServer& at(std::size_t index) { return *servers_.at(index); }

  // Waits until there is one; where it is in at().
  std::size_t leader();
  // Starts those that do not run, all at once: alone, a minority would wait for ever.
  void restart_dead();
  // Waits until all that run serve.
  void wait_until_all_serve();

  // Cuts the first server off from the others, or lets it reach them again. It notices by silence
  // only, as with a broken network. REQUIRES: proxied_first, and the first is not the leader.
  void isolate_first(bool isolated);

 private:
  const ZooKeeperEnsembleOptions options_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
  std::vector<std::unique_ptr<ZooKeeperServer>> servers_;
};

}  // namespace holdfast::test
