#include "bout.h"

#include <thread>

#include "report.h"

namespace holdfast::bench {

namespace {

std::vector<Pass> stop(std::span<Worker> workers) {
  for (Worker& worker : workers) worker.send("stop");
  std::vector<Pass> passes;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    for (Pass& pass : passes_of(workers[i].answer())) {
      pass.worker = static_cast<int>(i);
      passes.push_back(pass);
    }
  }
  return passes;
}

// The moments before and after.
struct Window {
  std::int64_t from = 0, to = 0;
  double seconds() const { return static_cast<double>(to - from) / 1e9; }
};

Window let_pass(Seconds span) {
  Window window{.from = monotonic_ns()};
  std::this_thread::sleep_for(span);
  window.to = monotonic_ns();
  return window;
}

}  // namespace

CountDuring difference_of(std::function<double()> counter) {
  return [counter = std::move(counter)](const std::function<void()>& meanwhile) {
    const double before = counter();
    meanwhile();
    return counter() - before;
  };
}

std::optional<BoutOutcome> play(std::span<Worker> workers, const Bout& bout,
                                const CountDuring& count) {
  const std::string line =
      format("contend %s %d %d %d", bout.name.c_str(), bout.threads, bout.hold_us, bout.pause_us);
  // One first: it makes the tables, where the lock needs some.
  bool known = workers.front().ask(line) != kUnknownLine;
  for (Worker& worker : workers.subspan(1)) worker.send(line);
  for (Worker& worker : workers.subspan(1)) known = worker.answer() != kUnknownLine && known;
  if (!known) return std::nullopt;
  std::this_thread::sleep_for(bout.warm_up);
  const Window watched = let_pass(bout.span);
  Window counted;
  double commands = 0;
  if (count) {
    commands = count([&] { counted = let_pass(bout.span / 2); });
    // Not before: hand-offs go on while a server says what it has counted.
    counted.to = monotonic_ns();
  }
  std::vector<Pass> passes = stop(workers);
  BoutOutcome outcome{.hand_offs = hand_offs(passes, watched.from, watched.to)};
  if (count) {
    const HandOffs meanwhile = hand_offs(std::move(passes), counted.from, counted.to);
    const double changes = meanwhile.per_s * counted.seconds();
    if (changes > 0) outcome.counted_each = commands / changes;
  }
  return outcome;
}

}  // namespace holdfast::bench
