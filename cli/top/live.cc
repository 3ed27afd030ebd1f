#include "top/live.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include "interrupt.h"
#include "top/browser.h"
#include "top/lookout.h"
#include "top/painter.h"
#include "top/view.h"

namespace holdfast::cli::top {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH})
    sigaddset(&signals, signal);
  return without_ignored(signals);
}

// While it lives, signals are read from a descriptor.
class Signals {
 public:
  Signals() : set_(watched_signals()) {
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    descriptor_ = signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() {
    close(descriptor_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_; }
  // Zero: there is none.
  int take() const {
    signalfd_siginfo info{};
    return read(descriptor_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                : 0;
  }
  // As Ctrl-Z does it to a program that knows nothing of it. Returns when this process is continued; at once where
  // nobody could do that.
  static void stop_ourselves() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  }

 private:
  const sigset_t set_;
  sigset_t before_{};
  int descriptor_ = -1;
};

class Live {
 public:
  Live(std::vector<OpenPlace>& places, const Settings& settings, Terminal& terminal)
      : places_(places),
        terminal_(terminal),
        charset_(charset_of(std::getenv("LC_ALL"), std::getenv("LC_CTYPE"), std::getenv("LANG"))),
        painter_(Terminal::has_colours()),
        sight_(names_of(places)),
        browser_(sight_, settings.choice, settings.read_only),
        lookout_(places, settings.interval) {}

  int run();
  bool owes() const { return lookout_.owes(); }

 private:
  void take_terminal();
  void look();
  void draw_if_due(Clock::time_point now);
  void wait();
  void take_keys();
  void obey(const std::vector<Key>& keys);
  void handle(int signal);
  milliseconds patience(Clock::time_point now) const;

  std::vector<OpenPlace>& places_;
  Terminal& terminal_;
  const Charset charset_;
  Signals signals_;
  Painter painter_;
  Keys keys_;
  Sight sight_;
  Browser browser_;
  Lookout lookout_;
  Clock::time_point draw_at_{};
  Clock::time_point keys_since_{};
  std::optional<int> status_;
};

void Live::take_terminal() {
  terminal_.enter();
  painter_.forget();
  draw_at_ = {};
}

int Live::run() {
  take_terminal();
  while (!status_) {
    look();
    draw_if_due(Clock::now());
    wait();
  }
  terminal_.leave();
  return *status_;
}

void Live::look() {
  const long long now_ms = wall_ms();
  for (const std::size_t engine : lookout_.ask(Clock::now())) sight_.asked(engine, now_ms);
  const std::vector<Lookout::Answer> answers = lookout_.take_answers();
  for (const Lookout::Answer& each : answers) {
    if (each.locks) {
      const Fairness fairness = places_[each.engine].client.guarantees().fairness;
      sight_.saw(each.engine, *each.locks, fairness, each.begun, now_ms);
    } else {
      sight_.failed(each.engine, each.locks.failure());
    }
  }
  if (!answers.empty()) {
    sight_.look_for_deadlocks();
    browser_.refresh();  // Its rows pointed into the sight.
    draw_at_ = {};
  }
  for (std::string& message : lookout_.take_messages()) {
    browser_.tell(std::move(message));
    draw_at_ = {};
  }
}

void Live::draw_if_due(Clock::time_point now) {
  constexpr milliseconds kRedraw{1000};
  // A terminal that takes its time gets fewer pictures, not later ones.
  if (now < draw_at_ || terminal_.is_writing()) return;
  terminal_.write(painter_.paint(draw(browser_, {terminal_.size(), charset_, wall_ms()})));
  draw_at_ = now + kRedraw;
}

milliseconds Live::patience(Clock::time_point now) const {
  Clock::time_point until = lookout_.next();
  if (!terminal_.is_writing()) until = std::min(until, draw_at_);
  if (keys_.is_waiting()) until = std::min(until, keys_since_ + Keys::kPatience);
  if (until == Clock::time_point::max()) return milliseconds(-1);
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - now));
}

void Live::wait() {
  enum { kTerminal, kSignals, kAnswers, kCount };
  std::array<pollfd, kCount> ready{};
  const short both = POLLIN | POLLOUT;
  ready[kTerminal] = {terminal_.descriptor(), terminal_.is_writing() ? both : short{POLLIN}, 0};
  ready[kSignals] = {signals_.descriptor(), POLLIN, 0};
  ready[kAnswers] = {lookout_.descriptor(), POLLIN, 0};
  poll(ready.data(), ready.size(), static_cast<int>(patience(Clock::now()).count()));
  for (int signal = signals_.take(); signal != 0 && !status_; signal = signals_.take())
    handle(signal);
  if (ready[kTerminal].revents & POLLOUT) terminal_.flush();
  if (ready[kTerminal].revents & ~POLLOUT) take_keys();
  if (keys_.is_waiting() && Clock::now() >= keys_since_ + Keys::kPatience) obey(keys_.give_up());
}

void Live::take_keys() {
  const std::optional<std::string> typed = terminal_.read();
  if (!typed) {
    status_ = kSignalBase + SIGHUP;
    return;
  }
  if (typed->empty()) return;
  keys_since_ = Clock::now();
  obey(keys_.read(*typed));
}

void Live::obey(const std::vector<Key>& keys) {
  for (const Key& key : keys) {
    const Wish wish = browser_.press(key);
    draw_at_ = {};
    if (wish.breaking) {
      const auto& [lock, token] = *wish.breaking;
      lookout_.break_lock(lock.engine, lock.name, token);
    }
    if (wish.quit) status_ = kOk;
    if (wish.quit) return;
  }
}

void Live::handle(int signal) {
  switch (signal) {
    case SIGTSTP:
      terminal_.leave();
      Signals::stop_ourselves();
      [[fallthrough]];
    case SIGCONT: return take_terminal();
    case SIGWINCH: draw_at_ = {}; return;
    default: status_ = kSignalBase + signal;
  }
}

}  // namespace

int show_live(std::vector<OpenPlace>& places, const Settings& settings, Terminal& terminal) {
  Live live(places, settings, terminal);
  const int status = live.run();
  // An engine that hangs would keep its client, and so this process, for some seconds.
  if (live.owes()) std::_Exit(status);
  return status;
}

}  // namespace holdfast::cli::top
