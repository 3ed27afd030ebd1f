#include "mariadb_server.h"

#include <unistd.h>

#include <stdexcept>

#include "certificates.h"
#include "waiting.h"

namespace holdfast::test {

namespace {

// It refuses to be root unless it is told to be, and cannot be anybody else without root's rights.
std::vector<std::string> as_whom() {
  if (geteuid() == 0) return {"--user=root"};
  return {};
}

// The data of a server that has never run.
const std::filesystem::path& fresh_data() {
  struct Made {
    Made() {
      std::vector<std::string> words{find_program("mariadb-install-db", "mariadb-server"),
                                     "--no-defaults",
                                     "--datadir=" + data.string(),
                                     "--auth-root-authentication-method=normal",
                                     "--skip-test-db",
                                     "--innodb-log-file-size=8M"};
      for (const std::string& word : as_whom()) words.push_back(word);
      // A server that starts deletes what others have in this folder.
      ServerProcess install(words, directory.path() / "log",
                            {"TMPDIR=" + directory.path().string()});
      if (install.wait() != 0) throw std::runtime_error("mariadb-install-db: " + install.log());
    }
    TempDir directory;
    std::filesystem::path data = directory.path() / "data";
  };
  static const Made made;
  return made.data;
}

}  // namespace

MariadbServer::MariadbServer(MariadbOptions options) : options_(std::move(options)) {
  std::filesystem::copy(fresh_data(), directory_.path() / "data",
                        std::filesystem::copy_options::recursive);
  if (options_.movable_clock) {
    clock_ = std::make_unique<MovableClock>(directory_.path() / "clock");
  }
  for (int attempt = 1;; ++attempt) {
    port_ = free_port();
    try {
      start();
      break;
    } catch (const std::runtime_error&) {
      // Somebody else on this machine was faster.
      const bool taken = log().find("Address already in use") != std::string::npos;
      if (!taken || attempt == 5) throw;
      std::filesystem::remove(directory_.path() / "log");
    }
  }
  query("CREATE DATABASE holdfast");
}

std::vector<std::string> MariadbServer::command_line() const {
  std::vector<std::string> words{
      find_program("mariadbd", "mariadb-server"), "--no-defaults",
      "--datadir=" + (directory_.path() / "data").string(),
      // A server that starts deletes what others have in this folder.
      "--tmpdir=" + directory_.path().string(), "--socket=" + unix_path(),
      "--pid-file=" + (directory_.path() / "pid").string(), "--port=" + std::to_string(port_),
      "--bind-address=127.0.0.1", "--max-connections=2000", "--innodb-buffer-pool-size=16M",
      // Written at each commit, left to the kernel to bring to disk: outlives a killed server.
      "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=2",
      "--innodb-flush-method=nosync"};
  for (const std::string& word : as_whom()) words.push_back(word);
  if (options_.tls) {
    const Certificates& certificates = Certificates::shared();
    words.push_back("--ssl-ca=" + certificates.ca());
    words.push_back("--ssl-cert=" + certificates.server_certificate());
    words.push_back("--ssl-key=" + certificates.server_key());
  }
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  return words;
}

void MariadbServer::start() {
  process_ =
      std::make_unique<ServerProcess>(command_line(), directory_.path() / "log",
                                      clock_ ? clock_->environment() : std::vector<std::string>());
  wait_for("mariadbd to answer",
           [this] { return !process_->running() || value("SELECT 1") == "1"; });
  if (!process_->running()) throw std::runtime_error("mariadbd has ended: " + log());
}

void MariadbServer::restart() {
  process_->kill();
  start();
}

void MariadbServer::follow(const MariadbServer& leader, int port) const {
  const auto place = leader.query("SHOW MASTER STATUS").at(0);
  query("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='root', MASTER_PORT=" +
        std::to_string(port) + ", MASTER_LOG_FILE='" + place.at(0) +
        "', MASTER_LOG_POS=" + place.at(1));
  query("START SLAVE");
}

std::string MariadbServer::url(const std::string& options) const {
  return "mysql://root@127.0.0.1:" + std::to_string(port_) + "/holdfast" +
         (options.empty() ? "" : "?" + options);
}

MariadbClient::Rows MariadbServer::query(const std::string& sql) const {
  return MariadbClient(port_).query(sql);
}

std::string MariadbServer::value(const std::string& sql) const {
  return MariadbClient(port_).value(sql);
}

}  // namespace holdfast::test
