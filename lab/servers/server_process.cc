#include "server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "waiting.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The kernel ends a child when the thread that forked it ends, not when the process does.
// Therefore one thread that never ends forks them all.
class Launcher {
 public:
  static Launcher& instance() {
    static auto* const launcher = new Launcher;
    return *launcher;
  }

  pid_t launch(std::function<pid_t()> fork_and_exec) {
    std::packaged_task<pid_t()> task(std::move(fork_and_exec));
    std::future<pid_t> pid = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    more_.notify_one();
    return pid.get();
  }

 private:
  Launcher() {
    std::thread([this] { run(); }).detach();
  }

  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return !tasks_.empty(); });
      std::packaged_task<pid_t()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::packaged_task<pid_t()>> tasks_;
};

// In the child of a process with threads: only async-signal-safe calls.
[[noreturn]] void become(char* const* words, char* const* environment, int input, int log,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(96);  // it died before we asked to follow
  setpgid(0, 0);
  if (dup2(input, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) _exit(99);
  close_range(3, ~0U, 0);
  for (int number = 1; number < SIGRTMAX; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(words[0], words, environment);
  _exit(97);
}

// As exec() wants them, with a null pointer at the end.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    if (descriptor_ < 0) fail("socket");
  }
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

// A connection that our side closes first leaves the port in TIME_WAIT: taken for all who ask for
// any port, free for a server that asks for this one.
int reserve_any_port() {
  Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (bind(listener.get(), generic, size) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), generic, &size) != 0) {
    fail("a free port");
  }
  const Socket client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(client.get(), generic, size) != 0) fail("connecting to a free port");
  Socket accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  accepted.close();
  return ntohs(address.sin_port);
}

}  // namespace

ServerProcess::ServerProcess(std::vector<std::string> command, std::filesystem::path log,
                             std::vector<std::string> environment)
    : log_(std::move(log)), owner_(getpid()) {
  const Socket input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  const Socket output(open(log_.c_str(), flags, 0666));
  const std::vector<char*> words = pointers_to(command);
  std::vector<char*> variables = pointers_to(environment);
  variables.pop_back();
  // The first of a name is the one that counts.
  for (char** own = environ; *own != nullptr; ++own) variables.push_back(*own);
  variables.push_back(nullptr);
  pid_ = Launcher::instance().launch([&] {
    const pid_t child = fork();
    if (child == 0) become(words.data(), variables.data(), input.get(), output.get(), owner_);
    return child;
  });
  if (pid_ < 0) fail("fork");
}

ServerProcess::~ServerProcess() {
  if (getpid() == owner_) kill();
}

bool ServerProcess::reap(int flags) {
  if (status_) return true;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, flags);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  if (ended == pid_ && WIFSTOPPED(status)) return false;
  status_ = status;
  return true;
}

bool ServerProcess::running() { return !reap(WNOHANG); }

void ServerProcess::pause() {
  if (!running()) throw std::runtime_error("pause: the server has ended: " + log());
  ::kill(pid_, SIGSTOP);
  if (reap(WUNTRACED)) throw std::runtime_error("pause: the server has ended: " + log());
}

void ServerProcess::resume() {
  if (running()) ::kill(pid_, SIGCONT);
}

void ServerProcess::kill() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  while (!reap(0)) continue;
}

void ServerProcess::terminate() {
  if (!running()) return;
  ::kill(pid_, SIGTERM);
  ::kill(pid_, SIGCONT);
  try {
    wait_for("its end", [this] { return !running(); }, 10s);
  } catch (const std::runtime_error&) {
    kill();
  }
}

int ServerProcess::wait() {
  while (!reap(0)) continue;
  return WIFSIGNALED(*status_) ? 1000 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
}

std::string ServerProcess::log() const {
  std::ifstream file(log_, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int free_port() {
  static std::mutex mutex;
  static std::set<int> given;
  const std::lock_guard lock(mutex);
  for (;;) {
    const int port = reserve_any_port();
    if (given.insert(port).second) return port;
  }
}

std::string find_program(const std::string& name, const std::string& package) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path != nullptr ? path : "/usr/bin:/bin") +
                             ":/usr/local/sbin:/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw std::runtime_error(name + " not found; apt-get install " + package);
}

}  // namespace holdfast::test
