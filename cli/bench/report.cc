#include "report.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace holdfast::cli {
namespace {

std::uint64_t sum(Board& board, std::atomic<std::uint64_t> WorkerStats::* counter) {
  std::uint64_t total = 0;
  for (WorkerStats& worker : board.workers()) total += worker.*counter;
  return total;
}

Percentiles merge(Board& board, Histogram WorkerStats::* histogram) {
  Percentiles all;
  for (WorkerStats& worker : board.workers()) all.add(worker.*histogram);
  return all;
}

double rounded(double value) { return std::round(value * 10) / 10; }

Json to_json(const Percentiles& spans) {
  if (spans.total() == 0) return nullptr;
  return {{"p50", rounded(spans.at_us(0.5))},
          {"p99", rounded(spans.at_us(0.99))},
          {"p99.9", rounded(spans.at_us(0.999))},
          {"count", spans.total()}};
}

void print_line(const char* title, const Percentiles& spans) {
  if (spans.total() == 0) {
    std::printf("%-18s -\n", title);
  } else {
    std::printf("%-18s p50 %.1f us   p99 %.1f us   p99.9 %.1f us   (%llu)\n", title,
                spans.at_us(0.5), spans.at_us(0.99), spans.at_us(0.999),
                static_cast<unsigned long long>(spans.total()));
  }
}

}  // namespace

void print_progress(Board& board, Duration since_begin, Duration run_for) {
  const double seconds = std::chrono::duration<double>(since_begin).count();
  const auto pairs = static_cast<double>(sum(board, &WorkerStats::pairs));
  std::fprintf(stderr, "\r\033[K%.0f of %.0f s   %.0f pairs/s", seconds,
               std::chrono::duration<double>(run_for).count(), pairs / seconds);
}

void print_report(const Session& session, const BenchPlan& plan, Board& board, Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  const std::uint64_t pairs = sum(board, &WorkerStats::pairs);
  const double pairs_rate = static_cast<double>(pairs) / seconds;
  const double owners_rate = static_cast<double>(sum(board, &WorkerStats::owner_changes)) / seconds;
  const std::uint64_t timeouts = sum(board, &WorkerStats::timeouts);
  const std::uint64_t losses = sum(board, &WorkerStats::losses);
  const Percentiles acquire = merge(board, &WorkerStats::acquire);
  const Percentiles handoff = merge(board, &WorkerStats::handoff);
  if (session.json) {
    session.print({{"mode", mode_name(plan.mode)},
                   {"processes", plan.processes},
                   {"workers", plan.in_flight > 0 ? 0 : plan.workers},
                   {"in_flight", plan.in_flight},
                   {"names", plan.names},
                   {"seconds", seconds},
                   {"pairs", pairs},
                   {"pairs_per_second", rounded(pairs_rate)},
                   {"owner_changes_per_second", rounded(owners_rate)},
                   {"timeouts", timeouts},
                   {"losses", losses},
                   {"acquire_us", to_json(acquire)},
                   {"handoff_us", to_json(handoff)}});
    return;
  }
  std::printf("%-18s %.0f /s\n", "pairs", pairs_rate);
  std::printf("%-18s %.0f /s\n", "changes of owner", owners_rate);
  print_line("acquire", acquire);
  print_line("hand-off", handoff);
  if (timeouts > 0) std::printf("%-18s %llu\n", "not acquired", (unsigned long long)timeouts);
  if (losses > 0) std::printf("%-18s %llu\n", "lost", (unsigned long long)losses);
}

}  // namespace holdfast::cli
