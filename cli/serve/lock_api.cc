#include "serve/lock_api.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "holdfast/boost_asio.h"
#include "holdfast/text.h"
#include "serve/chance.h"
#include "serve/fields.h"
#include "serve/history.h"
#include "serve/lock_json.h"

namespace holdfast::cli::serve {
namespace {

constexpr std::size_t kMaxReason = 500;
// How long a hold lasts before another daemon takes it for that of a request of its own.
constexpr std::chrono::seconds kSettled{1};

Async<Result<Lease>> begin(LockRequest& request, const Asked& asked, std::stop_token stop) {
  if (asked.patience == Duration::zero()) return request.async_try_acquire();
  return request.async_try_acquire_for(asked.patience, std::move(stop));
}

Failure failure_of(const LockError& error) { return error.failure(); }

}  // namespace

LockApi::LockApi(net::io_context& context, const Engines& engines, History& history)
    : context_(context),
      engines_(engines),
      history_(history),
      leases_(context, engines),
      repeats_(context) {}

// A wait that does not wait can be granted to a peer that has gone, too: whoever calls this looks.
Awaitable<Result<Lease>> LockApi::take(ServedEngine& engine, const Asked& asked,
                                       LockOptions options, std::stop_token stop) {
  // Its client knows no other end than that of the ttl: nothing is taken from it before.
  if (!options.auto_renew) options.warn_before = kLeastWarning;
  std::optional<LockRequest> request;
  std::optional<Failure> refused;
  try {
    request = asked.request_on(engine.client, std::move(options));
  } catch (const LockError& error) {
    refused = failure_of(error);
  }
  if (refused) co_return *refused;
  Async<Result<Lease>> call = begin(*request, asked, std::move(stop));
  co_return co_await initiate(std::move(call), net::use_awaitable);
}

Response LockApi::granted(const std::shared_ptr<KeptLease>& kept, BootTime received) const {
  Response response =
      json_response(to_json(*kept->engine, kept->lease, kept->ttl, kept->text, received));
  response.headers.emplace_back("Holdfast-Token", kept->lease.token().str());
  return response;
}

// ---- Until the ttl ends -------------------------------------------------------------------------

Awaitable<Response> LockApi::acquire(Request request) {
  ServedEngine& engine = engines_.of(request);
  Asked asked = Asked::from(request);
  if (request.headers.contains("idempotency-key")) {
    co_return co_await acquire_by_key(std::move(request), engine, std::move(asked));
  }
  std::stop_token gone = request.gone;
  request = Request();  // It may be held for long, with thousands of others.
  co_return co_await acquire_once(std::move(gone), engine, std::move(asked));
}

Awaitable<Response> LockApi::acquire_once(std::stop_token gone, ServedEngine& engine, Asked asked) {
  LockOptions options{.auto_renew = false, .outlives_process = true};
  Result<Lease> lease = co_await take(engine, asked, std::move(options), gone);
  if (!lease) co_return response_to(lease.failure());
  if (gone.stop_requested()) {
    leases_.returns().add(std::move(*lease));
    co_return response_to(Problem{503, "cancelled", "the client has gone"});
  }
  const auto kept = leases_.keep(engine, std::move(*lease), asked.ttl);
  Response response = granted(kept, asked.received);
  response.written = [this, kept](bool whole) {
    if (!whole) leases_.forget(*kept);
  };
  co_return response;
}

// The hold that the same request got before: through a daemon before this one, or another one, or without our hearing of
// it. Null: there is none.
Awaitable<Result<std::shared_ptr<KeptLease>>> LockApi::recall(ServedEngine& engine,
                                                              const Asked& asked,
                                                              std::string mark) {
  for (;;) {
    Async<Result<LockInfo>> call = engine.client.async_inspect(asked.name);
    const Result<LockInfo> lock = co_await initiate(std::move(call), net::use_awaitable);
    if (!lock) co_return lock.failure();
    const auto holder = std::ranges::find_if(
        lock->holders, [&](const HolderInfo& each) { return is_claim_of(each.id, mark); });
    if (holder == lock->holders.end()) co_return std::shared_ptr<KeptLease>();
    // One that is younger may be withdrawn in this moment: see repeats.h.
    const Duration left = kSettled - holder->held_for.value_or(kSettled);
    if (left <= Duration::zero()) {
      Claim claim{
          .name = asked.name, .id = holder->id, .mode = asked.mode, .permits = asked.permits};
      claim.ttl = asked.ttl;
      claim.outlives_process = true;
      Handle handle(Hold{std::move(claim), holder->token});
      co_return co_await leases_.adopt(engine, std::move(handle));
    }
    net::steady_timer pause(context_, left);
    boost::system::error_code ignored;
    co_await pause.async_wait(net::redirect_error(net::use_awaitable, ignored));
  }
}

Awaitable<Result<std::shared_ptr<KeptLease>>> LockApi::take_or_recall(ServedEngine& engine,
                                                                      const Asked& asked,
                                                                      std::string mark,
                                                                      std::stop_token stop) {
  const auto drawn = [&mark] {
    return LockOptions{.auto_renew = false, .claim = claim_id_for(mark), .outlives_process = true};
  };
  std::optional<Failure> refused;
  // An exclusive lock can be asked for at once: if the same request holds it already, it is not had a second time.
  if (asked.mode == Mode::exclusive) {
    Asked at_once = asked;
    at_once.patience = Duration::zero();
    Result<Lease> lease = co_await take(engine, at_once, drawn(), stop);
    if (lease) co_return leases_.keep(engine, std::move(*lease), asked.ttl);
    refused = lease.failure();
  }
  if (!refused || refused->code() == Code::busy || refused->code() == Code::unknown) {
    auto known = co_await recall(engine, asked, mark);
    if (!known || *known) co_return known;
  }
  if (refused && asked.patience == Duration::zero()) co_return *refused;
  Result<Lease> lease = co_await take(engine, asked, drawn(), stop);
  if (!lease) co_return lease.failure();
  co_return leases_.keep(engine, std::move(*lease), asked.ttl);
}

// Goes on while anybody asks.
Awaitable<void> LockApi::run(std::shared_ptr<Attempt> attempt, ServedEngine& engine, Asked asked,
                             std::string mark) {
  std::optional<Failure> failure;
  try {
    auto kept = co_await take_or_recall(engine, asked, std::move(mark), attempt->stop.get_token());
    if (kept) {
      attempt->kept = std::move(*kept);
    } else {
      failure = kept.failure();
    }
  } catch (const std::exception& error) {
    failure = Failure(Code::unknown, error.what());
  }
  attempt->failure = std::move(failure);
  repeats_.end(*attempt);
}

Awaitable<Response> LockApi::acquire_by_key(Request request, ServedEngine& engine, Asked asked) {
  const std::string key = request.header("idempotency-key");
  if (auto problem = Repeats::problem_with(key))
    throw ProblemError(400, "invalid_argument", *problem);
  std::shared_ptr<Attempt> attempt;
  do {  // One that was left, and has ended only now, says nothing about this request.
    bool is_new = false;
    attempt = repeats_.attempt(key, digest_of(asked.fingerprint(engine.name)), is_new);
    if (is_new) {
      std::string mark = "holdfast-serve " + key + ' ' + asked.fingerprint("");
      net::co_spawn(context_, run(attempt, engine, asked, std::move(mark)), net::detached);
    }
    co_await repeats_.outcome(attempt, request.gone);
  } while (attempt->was_left() && !request.gone.stop_requested());
  if (attempt->kept && !attempt->kept->over) co_return granted(attempt->kept, request.received);
  if (attempt->failure) co_return response_to(*attempt->failure);
  if (attempt->kept)
    co_return response_to(
        Problem{410, "not_held", "the lease has ended meanwhile; draw a new key"});
  co_return response_to(Problem{503, "cancelled", "the client has gone"});
}

Awaitable<Response> LockApi::renew(Request request) {
  Fields fields(request);
  const std::string text = fields.required_text("lease");
  fields.end();
  const Leases::Named named = leases_.named_by(text);
  std::shared_ptr<KeptLease> kept = leases_.find(text);
  if (!kept) {
    const auto adopted = co_await leases_.adopt(*named.engine, named.handle);
    if (!adopted) co_return response_to(adopted.failure());
    co_return granted(*adopted, request.received);
  }
  Async<Result<void>> call = kept->lease.async_renew();
  const Result<void> renewed = co_await initiate(std::move(call), net::use_awaitable);
  if (!renewed) co_return response_to(renewed.failure());
  if (kept->over)
    co_return response_to(Problem{410, "not_held", "the lease was released meanwhile"});
  co_return granted(kept, request.received);
}

Awaitable<Response> LockApi::release(Request request) {
  Fields fields(request);
  const std::string text = fields.required_text("lease");
  fields.end();
  const Leases::Named named = leases_.named_by(text);
  Async<Result<void>> call = [&] {
    const std::shared_ptr<KeptLease> kept = leases_.find(text);
    if (!kept) return named.engine->client.async_release(named.handle);
    Lease lease = std::move(kept->lease);
    leases_.forget(*kept);
    return std::move(lease).async_release();
  }();
  const Result<void> released = co_await initiate(std::move(call), net::use_awaitable);
  if (!released) co_return response_to(released.failure());
  co_return json_response({{"released", true}});
}

// ---- Until the connection ends ------------------------------------------------------------------

namespace {

// The lease in a stream of events: it is renewed here, and given back when the stream ends, in whatever way.
class Held {
 public:
  Held(net::io_context& context, ServedEngine& engine, Lease lease, Duration ttl, BootTime received,
       Returns returns)
      : engine_(engine),
        lease_(std::move(lease)),
        ttl_(ttl),
        received_(received),
        returns_(std::move(returns)),
        timer_(context) {}
  ~Held() {
    if (lease_) returns_.add(std::move(lease_));
  }

  Awaitable<void> tell(EventSink& sink, std::stop_token gone) {
    // On threads of the client's, or on ours.
    const auto wake = [weak = weak_, executor = timer_.get_executor()] {
      net::post(executor, [weak] {
        if (const auto held = weak.lock()) held->timer_.cancel();
      });
    };
    const std::stop_callback on_lost(lease_.lost(), wake);
    const std::stop_callback on_gone(gone, wake);
    // (GCC 12 wants no braces inside co_await.)
    promised_ = lease_.valid_until();
    std::string text = event_text("granted", to_json(engine_, lease_, ttl_, "", received_));
    bool told = co_await sink.send(std::move(text));
    const Duration pause = std::clamp<Duration>(ttl_ / 3, kShortest, kLongest);
    while (told && !gone.stop_requested() && lease_.held()) {
      timer_.expires_after(pause);
      boost::system::error_code ignored;
      co_await timer_.async_wait(net::redirect_error(net::use_awaitable, ignored));
      if (gone.stop_requested() || !lease_.held()) break;
      promised_ = lease_.valid_until();
      Json validity;
      put_validity(validity, lease_, received_);
      text = event_text("renewed", validity);
      told = co_await sink.send(std::move(text));
    }
    if (told && !lease_.held()) {
      const Failure lost(Code::not_held,
                         "the lock '" + lease_.name().display() +
                             "' was lost: it could not be renewed in time, or was taken away");
      text = event_text("lost", to_json_problem(lost));
      co_await sink.send(std::move(text));
    }
    // A client that has closed its connection has given the lock back. One that cannot be reached goes by what it was
    // promised last, also when this daemon ends.
    const bool left = co_await sink.goodbye();
    if (!left) returns_.add_at(timer_.get_executor(), std::move(lease_), promised_);
  }

  Token token() const { return lease_.token(); }
  void set_self(std::weak_ptr<Held> self) { weak_ = std::move(self); }

 private:
  static constexpr Duration kShortest = std::chrono::milliseconds(200);
  // A client that hears nothing for longer than this knows that the daemon is gone; and one that is gone without a word
  // is noticed by what is written to it.
  static constexpr Duration kLongest = std::chrono::seconds(5);

  ServedEngine& engine_;
  Lease lease_;
  const Duration ttl_;
  const BootTime received_;
  const Returns returns_;
  BootTime promised_{};
  net::steady_timer timer_;
  std::weak_ptr<Held> weak_;
};

}  // namespace

Awaitable<Response> LockApi::hold(Request request) {
  ServedEngine& engine = engines_.of(request);
  const Asked asked = Asked::from(request);
  if (request.headers.contains("idempotency-key")) {
    throw ProblemError(
        400, "invalid_argument",
        "a lease that is bound to its connection needs no Idempotency-Key: it ends with it");
  }
  const std::stop_token gone = request.gone;
  request = Request();
  // If the daemon is killed, the lock stays held until its ttl ends: its holder believes that long that he has it.
  LockOptions options{.outlives_process = true};
  Result<Lease> lease = co_await take(engine, asked, std::move(options), gone);
  if (!lease &&
      lease.code() == Code::unsupported) {  // a lock that ends with the daemon's own connection
    LockOptions shorter;
    lease = co_await take(engine, asked, std::move(shorter), gone);
  }
  if (!lease) co_return response_to(lease.failure());
  const auto held = std::make_shared<Held>(context_, engine, std::move(*lease), asked.ttl,
                                           asked.received, leases_.returns());
  held->set_self(held);
  Response response{.content_type = "text/event-stream"};
  response.headers.emplace_back("Holdfast-Token", held->token().str());
  response.stream = [held, gone](EventSink& sink) { return held->tell(sink, gone); };
  co_return response;
}

// ---- Looking, and taking away -------------------------------------------------------------------

Awaitable<Response> LockApi::list(Request request) {
  const std::string* prefix = request.parameter("prefix");
  Json object = {{"locks", Json::array()}};
  for (ServedEngine* engine : engines_.asked(request)) {
    Async<Result<std::vector<LockInfo>>> call = engine->client.async_list(prefix ? *prefix : "");
    const Result<std::vector<LockInfo>> locks =
        co_await initiate(std::move(call), net::use_awaitable);
    if (!locks) co_return response_to(Failure(locks.code(), engine->name + ": " + locks.message()));
    for (const LockInfo& lock : *locks) object["locks"].push_back(lock_json(engine->name, lock));
  }
  co_return json_response(object);
}

Awaitable<Response> LockApi::inspect(Request request) {
  ServedEngine& engine = engines_.of(request);
  Async<Result<LockInfo>> call = engine.client.async_inspect(name_of(request));
  const Result<LockInfo> lock = co_await initiate(std::move(call), net::use_awaitable);
  if (!lock) co_return response_to(lock.failure());
  co_return json_response(lock_json(engine.name, *lock));
}

Awaitable<Response> LockApi::take_away(Request request) {
  ServedEngine& engine = engines_.of(request);
  const Name name = name_of(request);
  Fields fields(request);
  const auto token = fields.number("token", 1, UINT64_MAX);
  const std::string reason = fields.required_text("reason");
  fields.end();
  if (!token)
    throw ProblemError(400, "invalid_argument",
                       "the field token is missing: the token of the holder to break");
  if (reason.size() > kMaxReason)
    throw ProblemError(400, "invalid_argument", "a reason has at most 500 bytes");
  Async<Result<void>> call = engine.client.async_evict(name, Token(*token));
  const Result<void> broken = co_await initiate(std::move(call), net::use_awaitable);
  if (!broken && broken.code() == Code::not_held) {
    co_return response_to(Problem{409, "not_held", broken.message()});
  }
  if (!broken) co_return response_to(broken.failure());
  history_.add({.engine = engine.name,
                .name = name,
                .kind = "broken",
                .token = Token(*token),
                .reason = printable(reason, kMaxReason),
                .exact = true});
  co_return json_response({{"broken", true}});
}

}  // namespace holdfast::cli::serve
