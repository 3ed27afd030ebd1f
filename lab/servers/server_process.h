// ServerProcess: a server that a test starts, with its output in a file, that ends with the test.
//
//   running --pause()--> stopped --resume()--> running --kill(), terminate()--> ended, reaped
//
// It is killed by its pid: in the destructor, or by the kernel when the test's process dies
// (PR_SET_PDEATHSIG). The kernel forgets that wish when the command changes its user: there, ask
// for it again (`setpriv --pdeathsig KILL --reuid=postgres …`).
//
// Thread safety: one thread at a time. It need not be the one that started it, and that one may
// end before.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

class ServerProcess {
 public:
  // The first word is a path (find_program()). The log receives stdout and stderr, appended to
  // what is there. The server inherits no other descriptor, and a process group of its own.
  // `environment` ("NAME=value") goes before the test's own.
  ServerProcess(std::vector<std::string> command, std::filesystem::path log,
                std::vector<std::string> environment = {});
  ~ServerProcess();  // in a forked child it does nothing
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running();    // also true while paused
  void pause();      // SIGSTOP; returns when it has stopped
  void resume();     // SIGCONT
  void kill();       // SIGKILL; returns when it is reaped
  void terminate();  // SIGTERM; returns when it is reaped; SIGKILL after 10 s
  int wait();        // for its own end: the exit status, or 1000 + the signal
  std::string log() const;

 private:
  bool reap(int flags);  // true once it has ended

  std::filesystem::path log_;
  pid_t owner_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// A TCP port on 127.0.0.1 that nobody uses, another one at each call. For a minute the kernel
// gives it to nobody who asks for any port, so that no other process takes it before the server
// does (with SO_REUSEADDR, as servers do).
int free_port();

// The path of a program in PATH or where administrators' programs are. Throws std::runtime_error
// that names the Debian package if there is none.
std::string find_program(const std::string& name, const std::string& package);

}  // namespace holdfast::test
