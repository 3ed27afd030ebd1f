// Spans: what the observers of a Tracer have heard: calls that wait, holds that last, and spans that have ended and were
// not handed over yet. All under one mutex; the sink is called outside of it, under one of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fork_watch.h"
#include "base/random.h"
#include "base/thread_safety.h"
#include "holdfast/trace.h"
#include "trace/span.h"
#include "trace/traceparent.h"

namespace holdfast {

class Tracer::Spans {
 public:
  explicit Spans(TraceOptions options);

  void wait(const std::string& engine, const Claim& claim);
  void retry(const Claim& claim, const Failure& why);
  void grant(const std::string& engine, const Hold& hold, BootTime valid_until);
  void refuse(const Claim& claim, const Failure& why);
  void renew(const Hold& hold, BootTime valid_until);
  void fail_renewal(const Hold& hold, const Failure& why);
  void lose(const Hold& hold);
  void release(const Hold& hold, const Result<bool>& how);

  std::string traceparent() const { return traceparent_; }
  void end_root(const std::optional<std::string>& failure);
  void flush();
  // The sink is not called any more after this.
  void close();
  std::uint64_t dropped();

 private:
  using Span = internal::Span;
  struct Held {
    Span span;
    BootTime valid_until;
  };

  // Nobody wants these spans, or they are of another process.
  bool off() const { return !sampled_ || born_.forked(); }
  internal::TraceContext above() HOLDFAST_NEEDS_LOCK(mutex_);
  Span begin(std::string_view name, Span::Kind kind, const internal::TraceContext& above,
             BootTime now) HOLDFAST_NEEDS_LOCK(mutex_);
  bool has_room(BootTime now) HOLDFAST_NEEDS_LOCK(mutex_);
  // Spans to be handed over by hand(), when the mutex was given up.
  std::vector<std::string> finish(const Span& span, BootTime now) HOLDFAST_NEEDS_LOCK(mutex_);
  void hand(std::vector<std::string> batch);
  std::string request_of(const std::vector<std::string>& batch) const;
  std::string random_hex(std::size_t words) HOLDFAST_NEEDS_LOCK(mutex_);

  const TraceOptions options_;
  const internal::ForkWatch born_;
  bool sampled_ = true;
  std::string resource_;
  std::string traceparent_;
  // Of the sink: taken without the other, or before it.
  internal::CheckedMutex sink_mutex_;
  bool closed_ HOLDFAST_GUARDED_BY(sink_mutex_) = false;
  internal::CheckedMutex mutex_;
  internal::Random random_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<internal::TraceContext> given_
      HOLDFAST_GUARDED_BY(mutex_);  // what all is a part of
  std::optional<Span> root_ HOLDFAST_GUARDED_BY(mutex_);
  std::unordered_map<ClaimId, Span> waiting_ HOLDFAST_GUARDED_BY(mutex_);  // by Claim::call
  std::unordered_map<ClaimId, Held> held_ HOLDFAST_GUARDED_BY(mutex_);     // by Claim::id
  std::vector<std::string> ended_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t dropped_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  BootTime look_for_expired_at_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast
