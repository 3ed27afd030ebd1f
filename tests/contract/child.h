// Child: a process of its own with a client and a lease (see child/main.cc), to be stopped and
// killed. fork() and exec(), so that nothing of the test's own clients is in it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "holdfast/time.h"

namespace holdfast::contract {

class Child {
 public:
  // Started and connected to the engine when this returns. Throws std::runtime_error if not.
  // `environment` ("NAME=value") goes before the test's own.
  explicit Child(const std::string& url, std::vector<std::string> environment = {});
  // Kills it if it still runs.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  void send(const std::string& line);
  // Its next line; "(no answer)" if it is gone or says nothing for a long time.
  std::string answer();
  std::string ask(const std::string& line) { return send(line), answer(); }
  // The commands that take a name and a ttl.
  static std::string command(const std::string& verb, const std::string& name, Duration ttl);

  void stop();    // SIGSTOP, and waits until it stands still
  void resume();  // SIGCONT
  void kill();    // SIGKILL, and waits until it is gone
  // Ends its input, and waits for its end. Its exit status.
  int finish();
  pid_t pid() const { return pid_; }

 private:
  void close_pipes();

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string unread_;
};

}  // namespace holdfast::contract
