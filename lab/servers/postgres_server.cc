#include "postgres_server.h"

#include <dirent.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "certificates.h"
#include "postgres_client.h"
#include "product.h"
#include "waiting.h"

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;

// PostgreSQL refuses to be root. The kernel forgets to end it with the test when it changes its
// user, so it is asked again.
std::vector<std::string> as_user_of_postgres() {
  if (geteuid() != 0) return {};
  return {find_program("setpriv", "util-linux"),
          "--pdeathsig",
          "KILL",
          "--reuid=postgres",
          "--regid=postgres",
          "--init-groups"};
}

void give_to_postgres(const fs::path& path) {
  if (geteuid() != 0) return;
  const passwd* user = getpwnam("postgres");
  if (!user) throw std::runtime_error("there is no user postgres (Debian package postgresql)");
  if (chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::runtime_error("chown " + path.string());
  }
}

std::string program(const std::string& name) {
  return Product::of(ServerKind::postgresql).program(name);
}

void run(std::vector<std::string> command, const fs::path& log) {
  ServerProcess process(std::move(command), log);
  if (process.wait() != 0) throw std::runtime_error(process.log());
}

void init_data(const fs::path& data, const fs::path& log) {
  std::vector<std::string> command = as_user_of_postgres();
  for (const std::string& word :
       {program("initdb"), std::string("-D"), data.string(), std::string("-U"),
        std::string("postgres"), std::string("-A"), std::string("trust"), std::string("--no-sync"),
        std::string("--locale=C"), std::string("-E"), std::string("UTF8")}) {
    command.push_back(word);
  }
  run(command, log);
}

// A cluster of databases as initdb makes it, to be copied: that takes a tenth of the time.
const fs::path& fresh_data() {
  static const TempDir directory;
  static const fs::path data = [] {
    fs::permissions(directory.path(), fs::perms(0755));
    give_to_postgres(directory.path());
    init_data(directory.path() / "data", directory.path() / "log");
    return directory.path() / "data";
  }();
  return data;
}

void copy_for_postgres(const std::string& from, const fs::path& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  give_to_postgres(to);
  fs::permissions(to, fs::perms(0600));
}

}  // namespace

PostgresServer::PostgresServer(PostgresOptions options) : options_(std::move(options)) {
  if (options_.movable_clock) {
    clock_ = std::make_unique<MovableClock>(directory_.path() / "clock");
    fs::permissions(directory_.path() / "clock", fs::perms(0666));
  }
  fs::permissions(directory_.path(), fs::perms(0755));
  give_to_postgres(directory_.path());
  make_data();
  if (options_.tls) {
    const Certificates& certificates = Certificates::shared();
    copy_for_postgres(certificates.server_certificate(), data() / "server.crt");
    copy_for_postgres(certificates.server_key(), data() / "server.key");
    copy_for_postgres(certificates.ca(), data() / "ca.crt");
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
      fs::remove(directory_.path() / "log");
    }
  }
  if (options_.follows == 0) allow_logins();
}

void PostgresServer::make_data() const {
  if (options_.own_identity) return init_data(data(), directory_.path() / "init.log");
  if (options_.follows == 0) {
    return run({find_program("cp", "coreutils"), "-a", fresh_data().string(), data().string()},
               directory_.path() / "cp.log");
  }
  std::vector<std::string> command = as_user_of_postgres();
  for (const std::string& word :
       {program("pg_basebackup"), std::string("-h"), std::string("127.0.0.1"), std::string("-p"),
        std::to_string(options_.follows), std::string("-U"), std::string("postgres"),
        std::string("-D"), data().string(), std::string("-R"), std::string("--no-sync"),
        std::string("--checkpoint=fast")}) {
    command.push_back(word);
  }
  run(command, directory_.path() / "copy.log");
}

PostgresServer::~PostgresServer() {
  const StopsWaiting never{std::stop_token()};
  // Its own processes end a moment after it, and write to their directory until then.
  if (process_ && process_->running()) kill();
}

std::vector<std::string> PostgresServer::command_line() const {
  std::vector<std::string> words = as_user_of_postgres();
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  add({program("postgres"), "-D", data().string(), "-p", std::to_string(port_)});
  add({"-h", "127.0.0.1", "-k", directory_.path().string()});
  // Answered writes are in the kernel's hands, which is enough for a killed server.
  add({"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=16MB"});
  add({"-c", "max_connections=200", "-c", "jit=off"});
  if (options_.tls) add({"-c", "ssl=on", "-c", "ssl_ca_file=ca.crt"});
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  return words;
}

void PostgresServer::start() {
  Product::of(ServerKind::postgresql).report();
  process_ =
      std::make_unique<ServerProcess>(command_line(), directory_.path() / "log",
                                      clock_ ? clock_->environment() : std::vector<std::string>());
  wait_for("postgres to answer",
           [this] { return !process_->running() || query("SELECT 1") == "1"; });
  if (!process_->running()) throw std::runtime_error("postgres has ended: " + log());
}

void PostgresServer::allow_logins() const {
  if (!options_.password.empty()) {
    query("ALTER USER postgres PASSWORD '" + options_.password + "'");
  }
  const std::string method = options_.password.empty() ? "trust" : "scram-sha-256";
  // query() goes through the socket.
  std::ofstream rules(data() / "pg_hba.conf");
  rules << "local all all trust\n";
  rules << (options_.tls ? "hostssl" : "host") << " all all 127.0.0.1/32 " << method << "\n";
  rules << (options_.tls ? "hostssl" : "host") << " replication all 127.0.0.1/32 " << method
        << "\n";
  rules.close();
  query("SELECT pg_reload_conf()");
}

std::string PostgresServer::url(const std::string& user, const std::string& password) const {
  std::string login = user;
  if (!password.empty()) {
    login += ":" + password;
  } else if (user == "postgres" && !options_.password.empty()) {
    login += ":" + options_.password;
  }
  const std::string url =
      "postgres://" + login + "@127.0.0.1:" + std::to_string(port_) + "/postgres";
  return options_.tls ? url + "?ca=" + Certificates::shared().ca() : url;
}

void PostgresServer::kill() {
  const std::vector<pid_t> all = processes();
  ::kill(process_->pid(), SIGCONT);
  // It ends its own processes at once, without their leave.
  ::kill(process_->pid(), SIGQUIT);
  static_cast<void>(process_->wait());
  wait_for("postgres' processes to end", [&] {
    for (const pid_t process : all) {
      if (::kill(process, 0) == 0) return false;
    }
    return true;
  });
}

void PostgresServer::restart() {
  if (process_->running()) kill();
  start();
}

std::vector<pid_t> PostgresServer::processes() const {
  std::vector<pid_t> children;
  const std::string parent = std::to_string(process_->pid());
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    std::getline(stat, line);
    // "PID (NAME) STATE PARENT …"
    const std::size_t end = line.rfind(") ");
    if (end == std::string::npos) continue;
    if (line.compare(end + 4, parent.size() + 1, parent + " ") == 0) {
      children.push_back(std::stoi(name));
    }
  }
  return children;
}

void PostgresServer::pause() {
  // The parent first, or it would make new ones meanwhile.
  process_->pause();
  for (const pid_t process : processes()) ::kill(process, SIGSTOP);
}

void PostgresServer::resume() {
  for (const pid_t process : processes()) ::kill(process, SIGCONT);
  process_->resume();
}

std::string PostgresServer::query(const std::string& statements) const {
  return PostgresClient(directory_.path().string(), port_).value(statements);
}

}  // namespace holdfast::test
