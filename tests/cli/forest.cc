// Usage: forest SHAPE COUNT LOCK-FILE [closed] [note FILE]
//
// A tree of COUNT processes below this one, for the tests of what `holdfast run` does to trees:
//
//   flat      all children of this one, in its process group
//   sessions  all children of this one, each in a session of its own
//   chain     each is the child of the one before, in a session of its own
//
// All of them hold a shared lock on LOCK-FILE: an exclusive one is granted when all are gone.
// Prints "ready" when all are there. closed: they close every descriptor from 100 on, which is where
// `holdfast run` leaves the engine's. note: each appends a byte to FILE when it gets SIGTERM, and ends.
// Otherwise they ignore SIGTERM.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int note = -1;

void on_term(int /*signal*/) {
  if (write(note, "T", 1) != 1) _exit(1);
  _exit(0);
}

[[noreturn]] void stay() {
  for (;;) pause();
}

void say_ready() {
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  const std::string shape = argv[1];
  const int count = std::atoi(argv[2]);
  const int file = open(argv[3], O_RDWR | O_CREAT, 0600);
  if (file < 0 || flock(file, LOCK_SH) != 0) return 1;
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  for (int i = 4; i < argc; ++i) {
    if (std::strcmp(argv[i], "closed") == 0) {
      for (int descriptor = 100; descriptor < 200; ++descriptor) close(descriptor);
    } else if (i + 1 < argc && std::strcmp(argv[i], "note") == 0) {
      note = open(argv[++i], O_WRONLY | O_CREAT | O_APPEND, 0600);
      signal(SIGTERM, &on_term);
    }
  }
  if (shape == "chain") {
    if (count > 0 && fork() == 0) {
      setsid();
      const std::string rest = std::to_string(count - 1);
      argv[2] = const_cast<char*>(rest.c_str());
      execv("/proc/self/exe", argv);  // Anew: forks of forks of forks are slow for the kernel.
      _exit(1);
    }
    if (count == 0) say_ready();
    stay();
  }
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      std::perror("forest: fork");
      return 1;
    }
    if (child == 0) {
      if (shape == "sessions") setsid();
      stay();
    }
  }
  say_ready();
  stay();
}
