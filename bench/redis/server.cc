#include "server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
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

// The chosen one of HOLDFAST_SERVER.
std::string find_server() {
  const test::Product product = test::Product::of(test::ServerKind::redis);
  product.report();
  return product.program(product.name() + "-server");
}

[[noreturn]] void become_server(const std::string& program, int port, int cpu,
                                const std::string& folder) {
  if (cpu != kAnyCpu) pin_to_cpu(cpu);
  const int nowhere = open("/dev/null", O_RDWR);
  if (nowhere < 0) throw std::system_error(errno, std::generic_category(), "/dev/null");
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  execl(program.c_str(), program.c_str(), "--port", std::to_string(port).c_str(), "--bind",
        "127.0.0.1", "--dir", folder.c_str(), "--save", "", "--appendonly",
        on_disk() ? "yes" : "no", "--appendfsync", "always", nullptr);
  _exit(kNoSuchProgram);
}

}  // namespace

Server::Server(int cpu) {
  // Between the look for a port and its use somebody else may take it.
  for (int attempt = 0; attempt < 3; ++attempt) {
    start(cpu);
    if (wait_until_ready()) return;
    stop();
  }
  throw std::runtime_error("redis-server does not start");
}

Server::~Server() { stop(); }

void Server::start(int cpu) {
  const std::string program = find_server();
  port_ = free_port();
  pid_ = start_process([&] { become_server(program, port_, cpu, folder_.path()); });
}

bool Server::wait_until_ready() {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::seconds(5); Clock::now() < end;) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSuchProgram) {
        throw std::runtime_error("redis-server is not installed (Debian: redis-server)");
      }
      return false;
    }
    try {
      Raw(port_).call({"PING"});
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
  const Reply reply = Raw(port_).call({"INFO", "server"});
  const std::string text(reply->str, reply->len);
  const std::string key = "redis_version:";
  const std::size_t begin = text.find(key) + key.size();
  return text.substr(begin, text.find('\r', begin) - begin);
}

void Server::flush() const { Raw(port_).call({"FLUSHALL"}); }

}  // namespace holdfast::bench
