#include "serve/leases.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "duration.h"
#include "holdfast/boost_asio.h"

namespace holdfast::cli::serve {

namespace {

std::string text_of(const ServedEngine& engine, const Handle& handle) {
  return engine.name + ':' + handle.text();
}

}  // namespace

std::shared_ptr<KeptLease> Leases::keep(ServedEngine& engine, Lease lease, Duration ttl) {
  auto kept = std::make_shared<KeptLease>();
  kept->text = text_of(engine, lease.handle());
  kept->engine = &engine;
  kept->ttl = ttl;
  const std::stop_token lost = lease.lost();
  kept->lease = std::move(lease);
  kept_[kept->text] = kept;
  // On a thread of the client's.
  kept->on_lost.emplace(lost, [this, weak = std::weak_ptr<KeptLease>(kept)] {
    net::post(context_, [this, weak] {
      if (const auto ended = weak.lock()) let_go(*ended);
    });
  });
  return kept;
}

Awaitable<Result<std::shared_ptr<KeptLease>>> Leases::adopt(ServedEngine& engine, Handle handle) {
  const std::string text = text_of(engine, handle);
  if (auto kept = find(text)) co_return kept;
  const Duration ttl = handle.hold().claim.ttl;
  LockOptions options{
      .ttl = ttl, .warn_before = kLeastWarning, .auto_renew = false, .outlives_process = true};
  Async<Result<Lease>> call = engine.client.async_adopt(handle, options);
  Result<Lease> lease = co_await initiate(std::move(call), net::use_awaitable);
  if (!lease) co_return lease.failure();
  if (auto kept = find(text)) {  // Two requests at once: both renewed it, and one keeps it.
    lease->abandon();
    co_return kept;
  }
  co_return keep(engine, std::move(*lease), ttl);
}

std::shared_ptr<KeptLease> Leases::find(const std::string& text) const {
  const auto found = kept_.find(text);
  return found == kept_.end() ? nullptr : found->second;
}

std::shared_ptr<KeptLease> Leases::removed(KeptLease& kept) {
  kept.over = true;
  const auto found = kept_.find(kept.text);
  if (found == kept_.end() || found->second.get() != &kept) return nullptr;
  std::shared_ptr<KeptLease> last = std::move(found->second);
  kept_.erase(found);
  return last;
}

void Leases::forget(KeptLease& kept) {
  const auto last = removed(kept);
  if (last && last->lease) returns_.add(std::move(last->lease));
}

void Leases::let_go(KeptLease& kept) {
  const auto last = removed(kept);
  if (last) last->lease.abandon();
}

Leases::Named Leases::named_by(const std::string& text) const {
  const std::size_t colon = text.find(':');
  const std::string engine_name = text.substr(0, std::min(colon, text.size()));
  ServedEngine* engine = engines_.find(engine_name);
  Result<Handle> handle = Handle::parse(colon == std::string::npos ? "" : text.substr(colon + 1));
  if (!engine || !handle) {
    throw ProblemError(
        400, "invalid_argument",
        "this is no lease of this daemon: send what the answer to the acquire had in \"lease\"");
  }
  return {engine, std::move(*handle)};
}

void Leases::abandon() {
  for (auto& [text, kept] : kept_) {
    kept->on_lost.reset();
    kept->lease.abandon();
  }
  kept_.clear();
}

void put_validity(Json& object, const Lease& lease, BootTime received) {
  const BootTime now = BootClock::now();
  const Duration left = lease.valid_until() - kLeastWarning - now;
  const bool held = lease.held() && left > Duration::zero();
  object["valid_for_ms"] = held ? to_ms(left) : 0;
  object["valid_from_send_ms"] = held ? to_ms(now - received + left) : 0;
}

Json to_json(const ServedEngine& engine, const Lease& lease, Duration ttl, const std::string& text,
             BootTime received) {
  Json object;
  if (!text.empty()) object["lease"] = text;
  object["engine"] = engine.name;
  put_name(object, lease.name());
  object["path"] = percent_encoded(lease.name().bytes());
  object["mode"] = mode_name(lease.mode());
  object["token"] = lease.token().value();
  object["ttl_ms"] = to_ms(ttl);
  put_validity(object, lease, received);
  return object;
}

}  // namespace holdfast::cli::serve
