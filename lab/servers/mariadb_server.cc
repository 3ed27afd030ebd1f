#include "mariadb_server.h"

#include <unistd.h>

#include <map>
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

// MySQL looks for its messages where they would be if it were installed.
std::vector<std::string> where_it_is(const Product& product) {
  if (!product.is("mysql")) {
    if (product.root() == "/") return {};
    return {"--basedir=" + (product.root() / "usr").string()};
  }
  return {"--basedir=" + (product.root() / "usr").string(),
          "--lc-messages-dir=" + (product.root() / "usr/share/mysql").string()};
}

std::string server_program(const Product& product) {
  return product.program(product.is("mysql") ? "mysqld" : "mariadbd");
}

std::vector<std::string> install_command(const Product& product, const std::string& data) {
  std::vector<std::string> words;
  if (product.is("mysql")) {
    words = {server_program(product), "--no-defaults", "--initialize-insecure",
             "--innodb-redo-log-capacity=8M"};
  } else {
    words = {product.program("mariadb-install-db"), "--no-defaults",
             "--auth-root-authentication-method=normal", "--skip-test-db",
             "--innodb-log-file-size=8M"};
  }
  words.push_back("--datadir=" + data);
  for (const std::string& word : where_it_is(product)) words.push_back(word);
  for (const std::string& word : as_whom()) words.push_back(word);
  return words;
}

// The data of a server that has never run.
const std::filesystem::path& fresh_data(const Product& product) {
  struct Made {
    explicit Made(const Product& product) {
      // A server that starts deletes what others have in this folder.
      ServerProcess install(install_command(product, data.string()), directory.path() / "log",
                            {"TMPDIR=" + directory.path().string()});
      if (install.wait() != 0) throw std::runtime_error(product.name() + ": " + install.log());
      // Else all copies would be one and the same server to a follower. The next start makes it.
      std::filesystem::remove(data / "auto.cnf");
    }
    TempDir directory;
    std::filesystem::path data = directory.path() / "data";
  };
  // A process may choose another one later.
  static std::map<std::filesystem::path, Made> all;
  return all.try_emplace(product.root() / product.name(), product).first->second.data;
}

}  // namespace

MariadbServer::MariadbServer(MariadbOptions options) : options_(std::move(options)) {
  std::filesystem::copy(fresh_data(product_), directory_.path() / "data",
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
      server_program(product_), "--no-defaults",
      "--datadir=" + (directory_.path() / "data").string(),
      // A server that starts deletes what others have in this folder.
      "--tmpdir=" + directory_.path().string(), "--socket=" + unix_path(),
      "--pid-file=" + (directory_.path() / "pid").string(), "--port=" + std::to_string(port_),
      "--bind-address=127.0.0.1", "--max-connections=2000", "--innodb-buffer-pool-size=16M",
      // Written at each commit, left to the kernel to bring to disk: outlives a killed server.
      "--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync", "--sync-binlog=0"};
  if (product_.is("mysql")) {
    words.insert(words.end(),
                 {"--innodb-redo-log-capacity=8M", "--secure-file-priv=NULL", "--mysqlx=0"});
  } else {
    words.push_back("--innodb-log-file-size=8M");
  }
  for (const std::string& word : where_it_is(product_)) words.push_back(word);
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
  product_.report();
  process_ =
      std::make_unique<ServerProcess>(command_line(), directory_.path() / "log",
                                      clock_ ? clock_->environment() : std::vector<std::string>());
  wait_for(product_.name() + " to answer",
           [this] { return !process_->running() || value("SELECT 1") == "1"; });
  if (!process_->running()) {
    throw std::runtime_error(product_.name() + " has ended: " + log());
  }
}

void MariadbServer::restart() {
  process_->kill();
  start();
}

// MySQL has dropped the words that MariaDB still knows.
void MariadbServer::follow(const MariadbServer& leader, int port) const {
  const bool mysql = product_.is("mysql");
  const auto place = leader.query(mysql ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS").at(0);
  const std::string source = mysql ? "SOURCE" : "MASTER";
  query("CHANGE " + (mysql ? "REPLICATION SOURCE" : source) + " TO " + source +
        "_HOST='127.0.0.1', " + source + "_USER='root', " + source +
        "_PORT=" + std::to_string(port) + ", " + source + "_LOG_FILE='" + place.at(0) + "', " +
        source + "_LOG_POS=" + place.at(1));
  query(mysql ? "START REPLICA" : "START SLAVE");
}

void MariadbServer::promote() const {
  const std::string follower = product_.is("mysql") ? "REPLICA" : "SLAVE";
  query("STOP " + follower);
  query("RESET " + follower + " ALL");
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
