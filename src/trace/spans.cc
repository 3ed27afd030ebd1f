#include "trace/spans.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "holdfast/version.h"

namespace holdfast {

using internal::Attributes;
using internal::CheckedLock;
using internal::Random;
using internal::Span;
using internal::TraceContext;
using internal::Traceparent;

namespace {

// The loss of a lease may be told late, inside a loop that was held up.
constexpr Duration kLateLoss = std::chrono::minutes(1);

BootTime clock_of_boot() {
  return BootClock::now();  // layers: allow(clock) an observer has no Runtime
}

std::chrono::system_clock::time_point wall_now() {
  return std::chrono::system_clock::now();  // layers: allow(clock) the time that collectors know
}

std::string variable_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

TraceOptions completed(TraceOptions options) {
  if (!options.clock) options.clock = clock_of_boot;
  if (options.service.empty())
    options.service = variable_or("OTEL_SERVICE_NAME", program_invocation_short_name);
  if (!options.traceparent) options.traceparent = variable_or("TRACEPARENT", {});
  options.batch = std::max<std::size_t>(options.batch, 1);
  return options;
}

void describe(Span& span, const std::string& engine, const Claim& claim) {
  const ClaimId& call =
      claim.call == ClaimId() ? claim.id : claim.call;  // What was adopted has no call.
  span.attributes()
      .add("holdfast.name", claim.name.bytes())
      .add("holdfast.engine", engine)
      .add("holdfast.mode", mode_name(claim.mode))
      .add("holdfast.claim", call.digits());
  if (!claim.owner.empty()) span.attributes().add("holdfast.owner", claim.owner);
}

Attributes reasons(const Failure& why) {
  Attributes attributes;
  attributes.add("holdfast.code", code_name(why.code())).add("holdfast.reason", why.message());
  return attributes;
}

}  // namespace

Tracer::Spans::Spans(TraceOptions options)
    : options_(completed(std::move(options))), random_(Random::from_kernel()) {
  if (const auto given = Traceparent::parse(*options_.traceparent)) {
    given_ = given->context;
    sampled_ = given->sampled;
    traceparent_ = *options_.traceparent;
  }
  Attributes resource;
  resource.add("service.name", options_.service)
      .add("process.pid", static_cast<std::uint64_t>(getpid()));
  resource_ = resource.json();
  if (options_.root.empty() || !sampled_) return;
  root_ = begin(options_.root, Span::Kind::internal, above(), options_.clock());
  traceparent_ = internal::to_traceparent(root_->below());
}

std::string Tracer::Spans::random_hex(std::size_t words) {
  std::string text;
  while (text.size() < 16 * words) {
    char digits[17];
    // Never all zero, which is no id.
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(random_.next() | 1U));
    text += digits;
  }
  return text;
}

TraceContext Tracer::Spans::above() {
  if (root_) return root_->below();
  return given_ ? *given_ : TraceContext{random_hex(2), {}};
}

Span Tracer::Spans::begin(std::string_view name, Span::Kind kind, const TraceContext& above,
                          BootTime now) {
  return {name, kind, above, random_hex(1), now, wall_now()};
}

// Holds whose end nobody tells (they became handles) are forgotten only here, and looked for once a second at most: this
// is inside a client's loop.
bool Tracer::Spans::has_room(BootTime now) {
  if (waiting_.size() + held_.size() < options_.max_open) return true;
  if (now >= look_for_expired_at_) {
    look_for_expired_at_ = now + std::chrono::seconds(1);
    dropped_ += std::erase_if(
        held_, [&](const auto& one) { return one.second.valid_until + kLateLoss < now; });
  }
  if (waiting_.size() + held_.size() < options_.max_open) return true;
  ++dropped_;
  return false;
}

void Tracer::Spans::wait(const std::string& engine, const Claim& claim) {
  if (off()) return;
  const BootTime now = options_.clock();
  const CheckedLock lock(mutex_);
  if (!has_room(now)) return;
  Span span = begin("holdfast wait", Span::Kind::client, above(), now);
  describe(span, engine, claim);
  waiting_.insert_or_assign(claim.call, std::move(span));
}

void Tracer::Spans::retry(const Claim& claim, const Failure& why) {
  if (off()) return;
  const BootTime now = options_.clock();
  const CheckedLock lock(mutex_);
  const auto wait = waiting_.find(claim.call);
  if (wait != waiting_.end()) wait->second.add_event("retry", reasons(why), now);
}

void Tracer::Spans::grant(const std::string& engine, const Hold& hold, BootTime valid_until) {
  if (off()) return;
  const BootTime now = options_.clock();
  std::vector<std::string> batch;
  {
    const CheckedLock lock(mutex_);
    auto wait = waiting_.extract(hold.claim.call);
    TraceContext parent = wait ? wait.mapped().below() : above();
    if (wait) {
      wait.mapped()
          .attributes()
          .add("holdfast.token", hold.token.value())
          .add("holdfast.outcome", "granted");
      batch = finish(wait.mapped(), now);
    }
    if (has_room(now)) {
      Span span = begin("holdfast hold", Span::Kind::internal, parent, now);
      describe(span, engine, hold.claim);
      span.attributes().add("holdfast.token", hold.token.value());
      held_.insert_or_assign(hold.claim.id, Held{std::move(span), valid_until});
    }
  }
  hand(std::move(batch));
}

void Tracer::Spans::refuse(const Claim& claim, const Failure& why) {
  if (off()) return;
  const BootTime now = options_.clock();
  std::vector<std::string> batch;
  {
    const CheckedLock lock(mutex_);
    auto wait = waiting_.extract(claim.call);
    if (!wait) return;
    Span& span = wait.mapped();
    span.attributes().add("holdfast.outcome", code_name(why.code()));
    // Nobody did anything wrong.
    if (why.code() != Code::busy && why.code() != Code::cancelled) span.fail(why.message());
    batch = finish(span, now);
  }
  hand(std::move(batch));
}

void Tracer::Spans::renew(const Hold& hold, BootTime valid_until) {
  if (off()) return;
  const CheckedLock lock(mutex_);
  const auto held = held_.find(hold.claim.id);
  if (held != held_.end()) held->second.valid_until = valid_until;
}

void Tracer::Spans::fail_renewal(const Hold& hold, const Failure& why) {
  if (off()) return;
  const BootTime now = options_.clock();
  const CheckedLock lock(mutex_);
  const auto held = held_.find(hold.claim.id);
  if (held != held_.end()) held->second.span.add_event("renewal_failed", reasons(why), now);
}

void Tracer::Spans::lose(const Hold& hold) {
  if (off()) return;
  const BootTime now = options_.clock();
  std::vector<std::string> batch;
  {
    const CheckedLock lock(mutex_);
    auto held = held_.extract(hold.claim.id);
    if (!held) return;
    Span& span = held.mapped().span;
    span.attributes().add("holdfast.outcome", "lost");
    span.add_event("lost", {}, now);
    span.fail("the lock was lost");
    batch = finish(span, now);
  }
  hand(std::move(batch));
}

void Tracer::Spans::release(const Hold& hold, const Result<bool>& how) {
  if (off()) return;
  const BootTime now = options_.clock();
  std::vector<std::string> batch;
  {
    const CheckedLock lock(mutex_);
    auto held = held_.extract(hold.claim.id);
    if (!held) return;  // Lost before.
    Span& span = held.mapped().span;
    if (how) {
      span.attributes().add("holdfast.outcome", *how ? "released" : code_name(Code::not_held));
      if (!*how) span.fail("the lock was not held any more");
    } else {
      span.attributes().add("holdfast.outcome", code_name(how.code()));
      span.fail(how.message());
    }
    batch = finish(span, now);
  }
  hand(std::move(batch));
}

void Tracer::Spans::end_root(const std::optional<std::string>& failure) {
  if (off()) return;
  const BootTime now = options_.clock();
  std::vector<std::string> batch;
  {
    const CheckedLock lock(mutex_);
    if (!root_) return;
    if (failure) root_->fail(*failure);
    batch = finish(*root_, now);
    given_ = root_->below();  // What still ends is a part of it.
    root_.reset();
  }
  hand(std::move(batch));
}

std::vector<std::string> Tracer::Spans::finish(const Span& span, BootTime now) {
  ended_.push_back(span.ended(now));
  if (ended_.size() < options_.batch) return {};
  return std::exchange(ended_, {});
}

void Tracer::Spans::flush() {
  if (off()) return;
  std::vector<std::string> batch;
  {
    const CheckedLock lock(mutex_);
    batch = std::exchange(ended_, {});
  }
  hand(std::move(batch));
}

std::string Tracer::Spans::request_of(const std::vector<std::string>& batch) const {
  std::string json = R"({"resourceSpans":[{"resource":{"attributes":)" + resource_ +
                     R"(},"scopeSpans":[{"scope":{"name":"holdfast","version":")" HOLDFAST_VERSION
                     R"("},"spans":[)";
  for (const std::string& span : batch) {
    if (&span != &batch.front()) json += ',';
    json += span;
  }
  return json + "]}]}]}";
}

void Tracer::Spans::hand(std::vector<std::string> batch) {
  if (batch.empty()) return;
  const CheckedLock one_at_a_time(sink_mutex_);
  try {
    if (!closed_) return options_.sink(request_of(batch));
  } catch (...) {  // No memory, or a sink that throws: fewer spans, not fewer locks.
  }
  const CheckedLock lock(mutex_);
  dropped_ += batch.size();
}

void Tracer::Spans::close() {
  flush();
  if (off()) return;
  const CheckedLock lock(sink_mutex_);
  closed_ = true;
}

std::uint64_t Tracer::Spans::dropped() {
  const CheckedLock lock(mutex_);
  return dropped_;
}

}  // namespace holdfast
