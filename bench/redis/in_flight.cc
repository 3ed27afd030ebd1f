// in flight: one thread with 256 asynchronous claims, each on a name of its own, against the same
// commands pipelined by hand, 256 at a time, on one connection.
#include <array>

#include "flight.h"
#include "process.h"
#include "raw.h"
#include "samples.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

constexpr int kClaims = 256;

struct Rates {
  double with_token;  // raw, a script that draws a token too
  double plain;       // raw, SET NX PX alone
  double ours;
};

// Calls `round`, which returns how many pairs it did, until `span` has passed.
template <class F>
double rate(Seconds span, F round) {
  const BootTime begin = BootClock::now();
  double pairs = 0;
  Seconds took{0};
  while (took < span) {
    pairs += round();
    took = BootClock::now() - begin;
  }
  return pairs / took.count();
}

double fly(Client& client, std::vector<Mutex>& mutexes, Seconds span) {
  return rate(span, [&, begin = BootClock::now()] {
    int pairs = 0;
    const auto work = [&](int i) -> Task<void> {
      Mutex& mutex = mutexes[static_cast<std::size_t>(i)];
      while (BootClock::now() - begin < span) {
        Lease lease = (co_await mutex.async_acquire()).value();
        const Result<void> released = co_await lease.async_release();
        released.value();
        ++pairs;
      }
    };
    Flight::run(client, kClaims, work);
    return pairs;
  });
}

class Sides {
 public:
  Sides(const std::string& url, int port)
      : with_token_(port, RawLock::Take::with_token),
        plain_(port, RawLock::Take::plain),
        client_(Client::open(url).value()) {
    for (int i = 0; i < kClaims; ++i) {
      raw_names_.push_back("raw-" + std::to_string(i));
      mutexes_.push_back(client_.mutex("flight-" + std::to_string(i)));
    }
  }

  Rates measure(Seconds span) {
    const auto raw = [&](RawLock& lock) {
      return rate(span, [&] {
        lock.pairs(raw_names_);
        return kClaims;
      });
    };
    return {
        .with_token = raw(with_token_), .plain = raw(plain_), .ours = fly(client_, mutexes_, span)};
  }

 private:
  RawLock with_token_;
  RawLock plain_;
  Client client_;
  std::vector<std::string> raw_names_;
  std::vector<Mutex> mutexes_;
};

}  // namespace

void measure_in_flight(const Plan& plan, const Server& server, Report& report) {
  server.flush();
  const auto all = in_process(plan.client_cpu, [&] {
    std::array<Rates, kMostRepetitions> measured{};
    Sides sides(plan.url, server.port());
    sides.measure(plan.warm_up());
    for (int i = 0; i < plan.repetitions; ++i) {
      report.progress(format("claims in flight: repetition %d of %d", i + 1, plan.repetitions));
      measured.at(static_cast<std::size_t>(i)) = sides.measure(plan.span);
    }
    return measured;
  });
  std::vector<double> with_token, plain, ours, of_token, of_plain;
  for (int i = 0; i < plan.repetitions; ++i) {
    const Rates& rates = all.at(static_cast<std::size_t>(i));
    with_token.push_back(rates.with_token);
    plain.push_back(rates.plain);
    ours.push_back(rates.ours);
    of_token.push_back(rates.ours / rates.with_token);
    of_plain.push_back(rates.ours / rates.plain);
  }
  const std::string where =
      format("server on CPU %d, client on CPU %d", plan.server_cpu, plan.client_cpu);
  report.add({.name = "in_flight",
              .what = "256 claims in flight, 1 thread; of pipelined, with token",
              .values = of_token,
              .bar = Bar{Bar::Side::at_least, 0.6},
              .detail = format("raw hiredis %.0f, Holdfast %.0f pairs/s; %s", median(with_token),
                               median(ours), where.c_str()),
              .figures = {{"raw_per_s", median(with_token)}, {"ours_per_s", median(ours)}}});
  report.add({.name = "in_flight_plain",
              .what = "  the same; of pipelined SET NX PX, without token",
              .values = of_plain,
              .detail = format("raw hiredis %.0f, Holdfast %.0f pairs/s; %s", median(plain),
                               median(ours), where.c_str()),
              .figures = {{"raw_per_s", median(plain)}, {"ours_per_s", median(ours)}}});
}

}  // namespace holdfast::bench
