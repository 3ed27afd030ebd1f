#include "pgbouncer.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "postgres_client.h"
#include "waiting.h"

namespace holdfast::test {

PgBouncer::PgBouncer(const PostgresServer& server, const std::string& pool_mode)
    : port_(free_port()) {
  const std::string home = directory_.path().string();
  std::filesystem::permissions(home, std::filesystem::perms(0755));
  std::ofstream(home + "/users") << "\"postgres\" \"\"\n";
  std::ofstream(home + "/pgbouncer.ini")
      << "[databases]\n* = host=127.0.0.1 port=" << server.port() << "\n[pgbouncer]\n"
      << "listen_addr = 127.0.0.1\nlisten_port = " << port_ << "\nunix_socket_dir =\n"
      << "auth_type = trust\nauth_file = " << home << "/users\npool_mode = " << pool_mode
      << "\nignore_startup_parameters = extra_float_digits\n";
  std::vector<std::string> words;
  if (geteuid() == 0) {  // It refuses to be root.
    words = {find_program("setpriv", "util-linux"),
             "--pdeathsig",
             "KILL",
             "--reuid=postgres",
             "--regid=postgres",
             "--clear-groups"};
  }
  words.push_back(find_program("pgbouncer", "pgbouncer"));
  words.push_back(home + "/pgbouncer.ini");
  process_ = std::make_unique<ServerProcess>(words, home + "/log");
  wait_for("PgBouncer to take connections", [&] {
    if (!process_->running()) throw std::runtime_error(process_->log());
    try {
      return PostgresClient("127.0.0.1", port_).value("SELECT 1") == "1";
    } catch (const std::runtime_error&) {
      return false;
    }
  });
}

}  // namespace holdfast::test
