#include "engines/etcd/cluster.h"

#include <algorithm>
#include <array>

#include "base/server_reporter.h"
#include "base/unreachable_instead_of_unknown.h"
#include "engines/etcd/verdict.h"

namespace holdfast::internal::etcd {

namespace {

constexpr std::array<const char*, 11> kPaths{
    "/etcdserverpb.KV/Range", "/etcdserverpb.KV/Txn", "/etcdserverpb.KV/DeleteRange",
    "/etcdserverpb.Lease/LeaseGrant", "/etcdserverpb.Lease/LeaseRevoke",
    // A stream, of which we use one message each way.
    "/etcdserverpb.Lease/LeaseKeepAlive", "/etcdserverpb.Lease/LeaseTimeToLive",
    "/etcdserverpb.Auth/Authenticate", "/etcdserverpb.Maintenance/Status",
    "/etcdserverpb.Cluster/MemberList", "/etcdserverpb.Maintenance/Alarm"};
constexpr const char* kWatch = "/etcdserverpb.Watch/Watch";

constexpr const char* kLeaseNotFound = "requested lease not found";
constexpr const char* kNoAuthentication = "authentication is not enabled";

// In the place of a token where none is asked for. It is not sent: etcd would refuse it.
constexpr const char* kNoLogin = "none";

}  // namespace

Cluster::Cluster(Runtime& runtime, const Settings& settings)
    : runtime_(runtime),
      settings_(settings),
      // Many clients with the same URL should not all go to the first.
      member_(runtime.random() % settings.endpoints.size()),
      logged_in_(runtime),
      channel_(runtime, "etcd", settings.tls, settings.connect_timeout,
               [this] { return settings_.endpoints[member_]; }),
      background_(runtime) {}

Cluster::~Cluster() { background_.abandon(); }

bool Cluster::is_lease_not_found(const Failure& failure) {
  return says(failure.message(), kLeaseNotFound);
}

GrpcMetadata Cluster::metadata() const {
  // A member that has lost its leader says so at once, and ends the stream of watches.
  GrpcMetadata metadata{{"hasleader", "true"}};
  if (!token_.empty() && token_ != kNoLogin) metadata.emplace_back("token", token_);
  return metadata;
}

// A call that was begun at `begun` got no answer. A member that has answered nobody for long is
// stopped or cut off, not only slow.
void Cluster::leave_if_silent(BootTime begun) {
  const Duration patience = std::chrono::milliseconds(settings_.endpoints.size() == 1 ? 3000 : 300);
  if (last_answer_ >= begun) return;
  if (!silent_since_) silent_since_ = begun;
  if (runtime_.now() - *silent_since_ >= patience) leave_member("no answer any more");
}

void Cluster::leave_member(const std::string& why) {
  silent_since_.reset();
  member_ = (member_ + 1) % settings_.endpoints.size();
  channel_.drop(why);
}

// ---- Calling -----------------------------------------------------------------------------------

Failure Cluster::failure_of(const GrpcReply& reply) const {
  const std::string& said = reply.message;
  const std::string quoted = " (" + said + ")";
  if (reply.status == kResourceExhausted && says(said, "space exceeded")) {
    return failed(
        Code::misconfigured,
        "its database is full: compact and defragment it, then `etcdctl alarm disarm`" + quoted);
  }
  if (reply.status == kPermissionDenied) {
    return failed(
        Code::misconfigured,
        (settings_.user.empty() ? std::string("the login") : "the user '" + settings_.user + "'") +
            " has no right to this lock's keys: grant it readwrite on the prefix of its "
            "locks" +
            quoted);
  }
  if (says(said, "user name is empty")) {
    return failed(Code::misconfigured,
                  "it wants a login: write etcd://USER:PASSWORD@HOST" + quoted);
  }
  if (says(said, "authentication failed")) {
    return failed(Code::misconfigured, "it refuses the user or the password" + quoted);
  }
  if (says(said, "request is too large")) return failed(Code::invalid_argument, said);
  if (reply.status == kUnimplemented) {
    return failed(Code::misconfigured, "it does not know what we ask; is it etcd 3?" + quoted);
  }
  const bool final_word = verdict_on(reply.status, reply.message) == Verdict::refused;
  return failed(final_word ? Code::misconfigured : Code::unreachable, said);
}

// With others to ask, one that is silent gets a part of the time only.
Deadline Cluster::attempt_deadline(Deadline deadline) const {
  if (settings_.endpoints.size() == 1 || deadline.is_never()) return deadline;
  const BootTime now = runtime_.now();
  const Duration part =
      std::max<Duration>((deadline.moment() - now) / 3, std::chrono::milliseconds(400));
  return deadline.sooner(now + part);
}

bool Cluster::learn(const Result<GrpcReply>& reply, BootTime begun, Deadline attempt,
                    Attempts& attempts) {
  if (!reply) {
    attempts.last = reply.failure();
    if (reply.code() == Code::misconfigured || reply.code() == Code::cancelled) return false;
    if (reply.code() == Code::unknown) {
      attempts.unsure = true;
      if (attempt.passed(runtime_.now())) leave_if_silent(begun);
      return true;
    }
    // Each member once; after that somebody else decides whether to go on.
    member_ = (member_ + 1) % settings_.endpoints.size();
    return ++attempts.unconnected < static_cast<int>(settings_.endpoints.size());
  }
  attempts.last = failure_of(*reply);
  switch (verdict_on(reply->status, reply->message)) {
    case Verdict::answered: return false;
    case Verdict::refused: return false;
    case Verdict::log_in_again: token_.clear(); return ++attempts.logins <= 3;
    case Verdict::again_here_unsure: attempts.unsure = true; [[fallthrough]];
    case Verdict::again_here: return true;
    case Verdict::again_elsewhere_unsure: attempts.unsure = true; [[fallthrough]];
    case Verdict::again_elsewhere:
      if (settings_.endpoints.size() > 1) leave_member(reply->message);
      return true;
  }
  return false;
}

void Cluster::report_refusal(const Failure& why) {
  // Answers that callers expect.
  if (is_lease_not_found(why) || says(why.message(), kNoAuthentication)) return;
  report_refused(runtime_, channel_.endpoint().display(), why);
}

Failure Cluster::end_of(const Attempts& attempts, Deadline deadline) const {
  const Failure last = attempts.last.value_or(failed(Code::unreachable, "no answer in time"));
  if (attempts.unsure) return Failure(Code::unknown, last.message());
  if (last.code() == Code::unknown || deadline.passed(runtime_.now())) {
    return Failure(last.code() == Code::misconfigured ? last.code() : Code::unreachable,
                   last.message());
  }
  return last;
}

Cluster::Answered<std::string> Cluster::call(Method method, std::string message, Deadline deadline,
                                             std::stop_token stop) {
  const std::string path = kPaths.at(static_cast<std::size_t>(method));
  Attempts attempts;
  for (;;) {
    if (needs_login() && method != Method::authenticate) {
      const Result<void> entered = co_await log_in(deadline, stop);
      if (!entered && attempts.unsure) co_return Failure(Code::unknown, entered.message());
      if (!entered) co_return entered.failure();
    }
    const Deadline attempt = attempt_deadline(deadline);
    const BootTime begun = runtime_.now();
    const GrpcMetadata metadata =
        method == Method::authenticate ? GrpcMetadata() : this->metadata();
    Result<GrpcReply> reply = co_await channel_.call(path, metadata, message, attempt, stop);
    if (reply && verdict_on(reply->status, reply->message) == Verdict::answered) {
      last_answer_ = runtime_.now();
      silent_since_.reset();
      co_return Answer<std::string>{std::move(reply->message), reply->sent_at,
                                    channel_.generation(), attempts.unsure};
    }
    if (stop.stop_requested() || !learn(reply, begun, attempt, attempts)) {
      if (!reply && reply.code() == Code::unknown) attempts.unsure = true;
      if (reply && attempts.last) report_refusal(*attempts.last);
      co_return end_of(attempts, deadline);
    }
    const BootTime again = runtime_.now() + runtime_.jitter(attempts.pause);
    attempts.pause = std::min<Duration>(attempts.pause * 2, std::chrono::milliseconds(200));
    if (deadline.passed(again)) {
      if (reply) report_refusal(*attempts.last);
      co_return end_of(attempts, deadline);
    }
    if (co_await sleep_until(runtime_, again, stop) == Woken::cancelled) {
      co_return end_of(attempts, deadline);
    }
  }
}

template <class Message>
Cluster::Answered<Message> Cluster::decoded(Method method, std::string request,
                                            std::optional<Message> (*decode)(std::string_view),
                                            Deadline deadline, std::stop_token stop) {
  Result<Answer<std::string>> answer =
      co_await call(method, std::move(request), deadline, std::move(stop));
  if (!answer) co_return answer.failure();
  std::optional<Message> message = decode(answer->message);
  if (!message) co_return failed(Code::unknown, "an answer that makes no sense");
  co_return Answer<Message>{*std::move(message), answer->sent_at, answer->connection,
                            answer->repeated};
}

namespace {

template <class Message>
Cluster::Answered<Message> without_effect(Cluster::Answered<Message> request) {
  Result<Answer<Message>> answer = co_await std::move(request);
  if (!answer) co_return unreachable_instead_of_unknown(answer.failure());
  co_return answer;
}

}  // namespace

Cluster::Answered<TxnAnswer> Cluster::txn(Txn txn, Deadline deadline, std::stop_token stop) {
  return decoded(Method::txn, txn.encode(), decode_txn, deadline, std::move(stop));
}

Cluster::Answered<std::vector<KeyValue>> Cluster::remove(std::string key, Deadline deadline) {
  return decoded(Method::remove, encode_remove(key), decode_remove, deadline, {});
}

Cluster::Answered<TxnAnswer> Cluster::read(Txn txn, Deadline deadline, std::stop_token stop) {
  return without_effect(this->txn(std::move(txn), deadline, std::move(stop)));
}

Cluster::Answered<RangeAnswer> Cluster::range(Range range, Deadline deadline,
                                              std::stop_token stop) {
  return without_effect(
      decoded(Method::range, encode(range), decode_range, deadline, std::move(stop)));
}

Cluster::Answered<LeaseAnswer> Cluster::lease(Method method, std::string message, Deadline deadline,
                                              std::stop_token stop) {
  return without_effect(
      decoded(method, std::move(message), decode_lease, deadline, std::move(stop)));
}

Task<Result<void>> Cluster::open(Deadline deadline, std::stop_token stop) {
  if (needs_login()) co_return co_await log_in(deadline, std::move(stop));
  co_return co_await channel_.open(deadline, std::move(stop));
}

Task<Result<GrpcCallId>> Cluster::open_watches(std::string first, GrpcStreamListener& listener,
                                               Deadline deadline) {
  const Result<void> opened = co_await open(deadline);
  if (!opened) co_return opened.failure();
  if (!channel_.connected()) co_return failed(Code::unreachable, "the connection broke");
  const GrpcCallId stream = channel_.open_stream(kWatch, metadata(), first, listener);
  if (stream < 0) co_return failed(Code::unreachable, "the connection has no stream numbers left");
  co_return stream;
}

// ---- Logging in --------------------------------------------------------------------------------

void Cluster::forget_login(const std::string& why) {
  if (is_about_token(why)) token_.clear();
}

// One for all: checking a password is made to take long.
Task<Result<void>> Cluster::log_in(Deadline deadline, std::stop_token stop) {
  if (!logging_in_) {
    logging_in_ = true;
    logged_in_.reset();
    background_.spawn(authenticate());
  }
  const Woken woken = co_await logged_in_.wait(deadline, std::move(stop));
  if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
  if (woken == Woken::timed_out) co_return failed(Code::unreachable, "no login in time");
  co_return login_;
}

Task<void> Cluster::authenticate() {
  const std::string request = encode_authenticate(settings_.user, settings_.password);
  const Deadline deadline = request_deadline();
  const Result<Answer<std::string>> answer = co_await call(Method::authenticate, request, deadline);
  if (answer) {
    const std::optional<std::string> token = decode_authenticate(answer->message);
    token_ = token.value_or("");
    login_ = token_.empty() ? Result<void>(failed(Code::misconfigured, "it gave no login token"))
                            : Result<void>();
  } else if (says(answer.message(), kNoAuthentication)) {
    token_ = kNoLogin;  // A login that is not needed is no fault.
    login_ = Result<void>();
  } else {
    // Nothing of the caller's was sent.
    login_ = unreachable_instead_of_unknown(answer.failure());
  }
  logging_in_ = false;
  logged_in_.set();
}

}  // namespace holdfast::internal::etcd
