#include "galera_nodes.h"

#include <unistd.h>

#include <stdexcept>

#include "waiting.h"

namespace holdfast::test {

namespace {

void run(std::vector<std::string> words, const std::filesystem::path& log) {
  ServerProcess process(std::move(words), log);
  if (process.wait() != 0) throw std::runtime_error(process.log());
}

}  // namespace

GaleraNodes::GaleraNodes() {
  const std::filesystem::path& home = directory_.path();
  std::filesystem::create_directory(home / "1");
  run({find_program("mariadb-install-db", "mariadb-server"), "--no-defaults",
       "--datadir=" + (home / "0").string(), "--auth-root-authentication-method=normal",
       "--skip-test-db", "--innodb-log-file-size=8M"},
      home / "install.log");
  // Not as root: the copy of one node's files to the other goes through rsync, which leaves root's identity.
  if (geteuid() == 0)
    run({find_program("chown", "coreutils"), "-R", "mysql", home.string()}, "/dev/null");
  start(0, "");
  start(1, "127.0.0.1:" + std::to_string(group_ports_[0]));
  MariadbClient(ports_[0]).query("CREATE DATABASE holdfast");
  wait_for("the second node to have the database",
           [&] { return value(1, "SHOW DATABASES LIKE 'holdfast'") == "holdfast"; });
}

void GaleraNodes::start(std::size_t node, const std::string& peers) {
  const std::string home = (directory_.path() / std::to_string(node)).string();
  ports_[node] = free_port();
  group_ports_[node] = free_port();
  const std::string group = "127.0.0.1:" + std::to_string(group_ports_[node]);
  const std::string copies = "127.0.0.1:" + std::to_string(free_port());
  const std::string changes = "127.0.0.1:" + std::to_string(free_port());
  std::vector<std::string> words;
  if (geteuid() == 0) {
    words = {find_program("setpriv", "util-linux"),
             "--pdeathsig",
             "KILL",
             "--reuid=mysql",
             "--regid=mysql",
             "--clear-groups"};
  }
  for (const std::string& word :
       {find_program("mariadbd", "mariadb-server"), std::string("--no-defaults"),
        "--datadir=" + home, "--socket=" + home + ".s", "--pid-file=" + home + ".pid",
        "--tmpdir=" + directory_.path().string(), "--port=" + std::to_string(ports_[node]),
        std::string("--bind-address=127.0.0.1"), std::string("--innodb-buffer-pool-size=16M"),
        std::string("--innodb-log-file-size=8M"), std::string("--binlog-format=ROW"),
        std::string("--innodb-autoinc-lock-mode=2"), std::string("--wsrep-on=ON"),
        std::string("--wsrep-provider=/usr/lib/galera/libgalera_smm.so"),
        "--wsrep-cluster-address=gcomm://" + peers, "--wsrep-node-address=" + group,
        "--wsrep-provider-options=gcache.size=16M;gmcast.listen_addr=tcp://" + group +
            ";ist.recv_addr=" + changes,
        std::string("--wsrep-sst-method=rsync"), "--wsrep-sst-receive-address=" + copies}) {
    words.push_back(word);
  }
  processes_[node] = std::make_unique<ServerProcess>(words, home + ".log");
  wait_for("a Galera node to be in sync", [&] {
    if (!processes_[node]->running()) throw std::runtime_error(processes_[node]->log());
    return value(node,
                 "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                 "WHERE VARIABLE_NAME = 'wsrep_ready'") == "ON";
  });
}

std::string GaleraNodes::value(std::size_t node, const std::string& sql) const {
  try {
    return MariadbClient(ports_[node]).value(sql);
  } catch (const std::runtime_error&) {
    return "";
  }
}

}  // namespace holdfast::test
