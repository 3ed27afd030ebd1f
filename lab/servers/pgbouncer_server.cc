#include "pgbouncer_server.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "postgres_client.h"
#include "waiting.h"

namespace holdfast::test {

PgbouncerServer::PgbouncerServer(int upstream_port, PgbouncerOptions options) {
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  port_ = free_port();
  write_settings(upstream_port, options);
  std::vector<std::string> words;
  // It refuses to be root. The kernel forgets to end it with the test when it changes its user, so it is asked again.
  if (geteuid() == 0) {
    words = {find_program("setpriv", "util-linux"),
             "--pdeathsig",
             "KILL",
             "--reuid=postgres",
             "--regid=postgres",
             "--init-groups"};
  }
  words.push_back(find_program("pgbouncer", "pgbouncer"));
  words.push_back((directory_.path() / "pgbouncer.ini").string());
  process_ = std::make_unique<ServerProcess>(words, directory_.path() / "log");
  wait_for("pgbouncer to answer", [this] {
    return !process_->running() || PostgresClient("127.0.0.1", port_).value("SELECT 1") == "1";
  });
  if (!process_->running()) throw std::runtime_error("pgbouncer has ended: " + log());
}

void PgbouncerServer::write_settings(int upstream_port, const PgbouncerOptions& options) const {
  std::ofstream users(directory_.path() / "users");
  users << "\"postgres\" \"\"\n\"app\" \"PASSWORD\"\n";
  std::ofstream settings(directory_.path() / "pgbouncer.ini");
  settings << "[databases]\n* = host=127.0.0.1 port=" << upstream_port << "\n[pgbouncer]\n"
           << "listen_addr = 127.0.0.1\nlisten_port = " << port_ << "\nunix_socket_dir =\n"
           << "auth_type = trust\nauth_file = " << (directory_.path() / "users").string() << "\n"
           << "pool_mode = " << options.pool_mode << "\ndefault_pool_size = " << options.pool_size
           << "\nmax_client_conn = 1000\nlog_connections = 0\nlog_disconnections = 0\n";
}

std::string PgbouncerServer::url() const {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres";
}

}  // namespace holdfast::test
