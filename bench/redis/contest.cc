#include "contest.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "samples.h"

namespace holdfast::bench {

namespace {

std::int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

// Without any wake-up in between.
void wait_until(const std::stop_token& over) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait(lock, over, [] { return false; });
}

void sleep_for(Seconds span) {
  if (span > Seconds(0)) std::this_thread::sleep_for(span);
}

}  // namespace

Contest::Contest(const ContestPlan& plan, const MakeContenders& make) : plan_(plan) {
  if (pipe(over_pipe_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  for (int i = 0; i < plan.processes; ++i) {
    processes_.push_back(start_process([&] { be_process(i, make); }));
  }
  while (board_->ready < plan.processes) {
    check_alive();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Contest::~Contest() {
  for (const pid_t process : processes_) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  close_pipe(0);
  close_pipe(1);
}

void Contest::close_pipe(int end) {
  if (over_pipe_[end] >= 0) close(over_pipe_[end]);
  over_pipe_[end] = -1;
}

void Contest::check_alive() const {
  for (const pid_t process : processes_) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == process) {
      throw std::runtime_error("a process of the contest has ended too early");
    }
  }
}

void Contest::stop() {
  close_pipe(1);
  while (!processes_.empty()) {
    const pid_t process = processes_.back();
    processes_.pop_back();
    join_process(process);
  }
}

double Contest::cpu_seconds() const {
  double sum = 0;
  for (const pid_t process : processes_) sum += bench::cpu_seconds(process);
  return sum;
}

Contest::Outcome Contest::watch(Seconds warm_up, Seconds span) const {
  sleep_for(warm_up);
  const std::uint64_t changes = board_->changes;
  const std::int64_t begin_ns = monotonic_ns();
  board_->gap_count = 0;
  board_->recording = true;
  sleep_for(span);
  board_->recording = false;
  const double took = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  const auto changed = static_cast<double>(board_->changes - changes);
  check_alive();
  const std::size_t count = board_->gap_count;
  const std::vector<double> gaps(board_->gaps_us.begin(), board_->gaps_us.begin() + count);
  if (gaps.empty()) throw std::runtime_error("the contest saw no hand-off");
  return {.changes_per_s = changed / took,
          .p50_us = quantile(gaps, 0.5),
          .p99_us = quantile(gaps, 0.99),
          .p999_us = quantile(gaps, 0.999)};
}

// ---- In the processes --------------------------------------------------------------------------

void Contest::be_process(int number, const MakeContenders& make) {
  close_pipe(1);
  pin_to_cpus(plan_.cpus);
  std::stop_source over;
  const auto contenders = make(plan_.threads, over.get_token());
  std::vector<std::thread> threads;
  for (int i = 0; i < plan_.threads; ++i) {
    threads.emplace_back([&, i] {
      try {
        contend(*contenders[static_cast<std::size_t>(i)], number * plan_.threads + i,
                over.get_token());
      } catch (const std::exception& error) {
        std::fprintf(stderr, "\r\033[Kbench_redis: %s\n", error.what());
        _exit(1);
      }
    });
  }
  ++board_->ready;
  char nothing = 0;
  while (read(over_pipe_[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  over.request_stop();
  for (std::thread& thread : threads) thread.join();
}

void Contest::contend(Contender& contender, int number, const std::stop_token& over) const {
  while (!over.stop_requested()) {
    const std::int64_t asked_at_ns = monotonic_ns();
    ++board_->waiting;
    const bool taken = contender.take();
    --board_->waiting;
    if (!taken) return;
    note_owner(number, asked_at_ns);
    sleep_for(plan_.hold);
    if (board_->frozen) wait_until(over);
    board_->released_at_ns = monotonic_ns();
    contender.give();
    sleep_for(plan_.pause);
  }
}

void Contest::note_owner(int number, std::int64_t asked_at_ns) const {
  const std::int64_t now_ns = monotonic_ns();
  const int former = board_->owner.exchange(number, std::memory_order_relaxed);
  if (former == number) return;
  board_->changes.fetch_add(1, std::memory_order_relaxed);
  // A hand-off only if we were waiting when the former owner released.
  const std::int64_t released_at_ns = board_->released_at_ns;
  const std::size_t place = board_->gap_count;
  if (!board_->recording || released_at_ns < asked_at_ns || place == board_->gaps_us.size()) return;
  board_->gaps_us[place] = static_cast<float>(now_ns - released_at_ns) / 1000;
  board_->gap_count = place + 1;
}

}  // namespace holdfast::bench
