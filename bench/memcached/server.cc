#include "server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "process.h"
#include "product.h"
#include "raw.h"

namespace holdfast::bench {

namespace {

constexpr int kNoSuchProgram = 127;

int free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = descriptor >= 0 && bind(descriptor, generic, size) == 0 &&
                     getsockname(descriptor, generic, &size) == 0;
  if (descriptor >= 0) close(descriptor);
  if (!found) throw std::runtime_error("there is no free port on the loopback interface");
  return ntohs(address.sin_port);
}

// memcached refuses to be root, and what ends it with us is forgotten when the user changes: so we
// change it, and ask for that again.
void leave_root() {
  if (geteuid() != 0) return;
  const passwd* nobody = getpwnam("nobody");
  if (!nobody || setgroups(0, nullptr) != 0 || setgid(nobody->pw_gid) != 0 ||
      setuid(nobody->pw_uid) != 0) {
    throw std::system_error(errno, std::generic_category(), "nobody");
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// The chosen one of HOLDFAST_SERVER.
std::string find_server() {
  const test::Product product = test::Product::of(test::ServerKind::memcached);
  product.report();
  return product.program("memcached");
}

[[noreturn]] void become_server(const std::string& program, int port, int cpu) {
  pin_to_cpu(cpu);
  leave_root();
  const int nowhere = open("/dev/null", O_RDWR);
  if (nowhere < 0) throw std::system_error(errno, std::generic_category(), "/dev/null");
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  execl(program.c_str(), program.c_str(), "-l", "127.0.0.1", "-p", std::to_string(port).c_str(),
        "-U", "0", "-m", "64", "-t", "1", nullptr);
  _exit(kNoSuchProgram);
}

}  // namespace

Server::Server(int cpu) {
  // Between the look for a port and its use somebody else may take it.
  const std::string program = find_server();
  for (int attempt = 0; attempt < 3; ++attempt) {
    port_ = free_port();
    pid_ = start_process([&] { become_server(program, port_, cpu); });
    if (wait_until_ready()) return;
    stop();
  }
  throw std::runtime_error("memcached does not start");
}

Server::~Server() { stop(); }

bool Server::wait_until_ready() {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::seconds(5); Clock::now() < end;) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSuchProgram) {
        throw std::runtime_error("memcached is not installed (Debian: memcached)");
      }
      return false;
    }
    try {
      Raw(port_).call("mn\r\n");
      return true;
    } catch (const std::runtime_error&) {  // Not yet.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  return false;
}

void Server::stop() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string Server::version() const {
  Raw raw(port_);
  const std::string_view line = raw.call("version\r\n");  // "VERSION 1.6.18"
  return std::string(line.substr(8, line.find('\r') - 8));
}

}  // namespace holdfast::bench
