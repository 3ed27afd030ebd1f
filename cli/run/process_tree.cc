#include "process_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "holdfast/time.h"
#include "process_table.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

void sleep_for(Duration span) {
  timespec time{.tv_sec = span / 1s, .tv_nsec = (span % 1s).count()};
  nanosleep(&time, nullptr);
}

// The descendants of this process in a table, parents before their children.
class Descendants {
 public:
  explicit Descendants(const TreeSignal& what) : what_(what), self_(getpid()) {}

  // False if /proc cannot be read. With `kill_children` our children are killed on the way.
  bool find(bool kill_children = false) {
    if (!table_.read(kill_children ? self_ : 0) || !links_.resize(table_.size()) ||
        !order_.resize(table_.size())) {
      return false;
    }
    for (std::size_t i = 0; i < table_.size(); ++i) links_[i] = {kNone, kNone, false};
    std::size_t top = kNone;
    for (std::size_t i = 0; i < table_.size(); ++i) {
      // A number that is its own parent or not there (our parent, or one that ended) is no link.
      std::size_t* first = &top;
      if (table_[i].parent != self_) {
        const std::size_t parent = table_.find(table_[i].parent);
        if (parent == kNone || parent == i) continue;
        first = &links_[parent].first_child;
      }
      links_[i].next_sibling = *first;
      *first = i;
    }
    append(top);
    for (std::size_t at = 0; at < count_; ++at) append(links_[order_[at]].first_child);
    return true;
  }

  struct Count {
    int alive = 0;
    int signalled = 0;  // those that are dying already need no more signals
  };
  Count signal_all() {
    Count count{.signalled = table_.killed()};
    for (std::size_t at = 0; at < count_; ++at) {
      const ProcessEntry& process = table_[order_[at]];
      if (process.pid == what_.except) {
        links_[order_[at]].ours = true;
        continue;
      }
      if (process.ended()) continue;
      ++count.alive;
      if (process.dying && what_.signal == SIGKILL) {
        links_[order_[at]].ours = process.parent == self_;  // See is_ours().
        continue;
      }
      if (signal_one(order_[at])) ++count.signalled;
    }
    return count;
  }

 private:
  static constexpr std::size_t kNone = ProcessTable::kNone;

  struct Link {
    std::size_t first_child;
    std::size_t next_sibling;
    bool ours;  // known to be our descendant for certain
  };

  void append(std::size_t child) {
    for (; child != kNone; child = links_[child].next_sibling) {
      const pid_t pid = table_[child].pid;
      if (std::ranges::count(what_.spared, pid) == 0) order_[count_++] = child;
    }
  }

  bool signal_one(std::size_t index) {
    const ProcessEntry& process = table_[index];
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
    if (handle < 0) return false;
    const bool ours = is_ours(process);
    links_[index].ours = ours;
    if (ours && (what_.except_group == 0 || process.group != what_.except_group)) {
      syscall(SYS_pidfd_send_signal, handle, what_.signal, nullptr, 0);
      if (what_.then_continue) syscall(SYS_pidfd_send_signal, handle, SIGCONT, nullptr, 0);
    }
    close(handle);
    return ours;
  }

  // REQUIRES: a pidfd of that number is open, which pins whatever process has it now. A child of
  // our own keeps its number until we reap it. For others a second reading tells: the same start is
  // the same process; and if its parent is the same, that one has lived all the time, and so it is
  // the one in the table.
  bool is_ours(const ProcessEntry& then) const {
    if (then.parent == self_) return true;
    ProcessEntry now;
    if (!read_process(then.pid, now) || now.started != then.started) return false;
    if (now.parent == self_) return true;
    const std::size_t parent = table_.find(then.parent);
    return now.parent == then.parent && parent != kNone && links_[parent].ours;
  }

  const TreeSignal& what_;
  const pid_t self_;
  ProcessTable table_;
  PageArray<Link> links_;
  PageArray<std::size_t> order_;  // indices of descendants, level by level
  std::size_t count_ = 0;
};

constexpr int kAll = std::numeric_limits<int>::max();

// Reaps what has ended. Returns how many; -1 if no children are left.
int reap(pid_t main, std::optional<int>* status) {
  int count = 0;
  for (;;) {
    int how = 0;
    const pid_t pid = waitpid(-1, &how, WNOHANG);
    if (pid == 0) return count;
    if (pid < 0) return errno == ECHILD ? -1 : count;
    if (pid == main) *status = how;
    ++count;
  }
}

// Reaps until `count` have ended, none is left (true), or nobody has ended for `patience`.
bool reap_for(int count, Duration patience, pid_t main, std::optional<int>* status) {
  BootTime last = BootClock::now();
  for (;;) {
    const int ended = reap(main, status);
    if (ended < 0) return true;
    count -= ended;
    if (count <= 0) return false;
    if (ended > 0) last = BootClock::now();
    if (BootClock::now() - last > patience) return false;
    sleep_for(100us);
  }
}

}  // namespace

std::vector<pid_t> children_of_self() {
  std::vector<pid_t> children;
  siginfo_t any{};
  if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return children;
  ProcessTable table;
  if (!table.read()) return children;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].parent == getpid()) children.push_back(table[i].pid);
  }
  return children;
}

int signal_descendants(const TreeSignal& what) {
  Descendants descendants(what);
  return descendants.find() ? descendants.signal_all().alive : -1;
}

void reap_all_children(pid_t main, std::optional<int>* status) {
  for (;;) {
    int how = 0;
    const pid_t pid = waitpid(-1, &how, 0);
    if (pid == main) *status = how;
    if (pid < 0 && errno == ECHILD) return;
  }
}

void end_all_children(pid_t main, std::optional<int>* status) {
  // Most often there is one group, which was killed by our caller: no need to look for the others.
  if (reap_for(kAll, 3ms, main, status)) return;
  Duration pause = 1ms;
  for (;;) {
    const TreeSignal everybody{.signal = SIGKILL};
    Descendants descendants(everybody);
    const Descendants::Count count =
        descendants.find(true) ? descendants.signal_all() : Descendants::Count{};
    // Children forked meanwhile show after the others have ended. If all are dying, wait longer:
    // to look again would only take time from them.
    pause = count.signalled > 0 ? 1ms : std::min<Duration>(pause * 2, 50ms);
    const int enough = count.signalled > 0 ? count.alive : (count.alive > 0 ? kAll : 1);
    if (reap_for(enough, pause, main, status)) return;
  }
}

}  // namespace holdfast::cli
