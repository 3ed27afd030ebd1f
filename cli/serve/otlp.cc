#include "serve/otlp.h"

#include <signal.h>

#include <array>

namespace holdfast::cli::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxQueuedBytes = std::size_t{8} << 20;
constexpr std::chrono::seconds kPace{5};  // of OpenTelemetry's own batches
constexpr std::chrono::seconds kPatience{3};
constexpr std::chrono::seconds kLastPatience{2};
constexpr std::chrono::minutes kSilence{1};

// Signals are for the main thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

Otlp::Otlp(Collector collector, LogOptions log)
    : collector_(std::move(collector)),
      log_(std::move(log)),
      tracer_({.service = "holdfast-serve",
               .traceparent = "",  // a daemon is no part of the trace in which it was started
               .sink = [this](std::string request) { take(std::move(request)); },
               .batch = 256}) {
  const SignalsBlocked blocked;
  worker_ = std::thread([this] { work(); });
}

Otlp::~Otlp() {
  tracer_.flush();
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

// Inside the loop of a client.
void Otlp::take(std::string request) {
  const std::scoped_lock lock(mutex_);
  if (queued_bytes_ + request.size() > kMaxQueuedBytes) {
    ++dropped_;
    return;
  }
  queued_bytes_ += request.size();
  requests_.push_back(std::move(request));
  changed_.notify_all();
}

bool Otlp::next(std::string& request) {
  std::unique_lock lock(mutex_);
  while (requests_.empty() && !ending_) {
    if (changed_.wait_for(lock, kPace) == std::cv_status::no_timeout) continue;
    lock.unlock();
    tracer_.flush();
    lock.lock();
  }
  if (requests_.empty()) return false;
  request = std::move(requests_.front());
  requests_.pop_front();
  queued_bytes_ -= request.size();
  return true;
}

void Otlp::work() {
  std::optional<Clock::time_point> end;
  for (std::string request; next(request);) {
    std::chrono::milliseconds patience = kPatience;
    {
      const std::scoped_lock lock(mutex_);
      if (ending_ && !end) end = Clock::now() + kLastPatience;
    }
    if (end) patience = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now());
    if (patience <= patience.zero()) return;
    const std::string why = post(collector_, request, patience);
    if (why.empty()) continue;
    tell(why);
    if (end) return;  // It would take as long again.
  }
}

void Otlp::tell(const std::string& why) {
  std::uint64_t dropped = 0;
  {
    const std::scoped_lock lock(mutex_);
    ++dropped_;
    if (told_ != Clock::time_point() && Clock::now() - told_ < kSilence) return;
    told_ = Clock::now();
    dropped = std::exchange(dropped_, 0);
  }
  const std::string where = collector_.url();
  const std::array<LogField, 3> fields{{{"server", where}, {"count", dropped}, {"reason", why}}};
  log_line(log_, LogLevel::warn, "spans_dropped", fields);
}

}  // namespace holdfast::cli::serve
