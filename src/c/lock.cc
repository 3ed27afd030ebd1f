#include "c/handles.h"

namespace c = holdfast::c;
using holdfast::Failure;
using holdfast::Lease;
using holdfast::LockRequest;
using holdfast::Result;

namespace {

LockRequest request(holdfast::Client& client, const holdfast::Name& name,
                    const hf_lock_options& options) {
  const holdfast::LockOptions given = c::to_options(options);
  const holdfast::Mode mode = c::to_mode(options.mode);
  if (options.permits != 0 && mode != holdfast::Mode::permit) {
    throw holdfast::LockError(c::invalid("permits are set, but the mode is not HF_PERMIT"));
  }
  switch (mode) {
    case holdfast::Mode::permit: return client.semaphore(name, options.permits, given);
    case holdfast::Mode::shared: return client.shared_mutex(name, given).shared();
    case holdfast::Mode::exclusive: break;
  }
  if (options.among_readers) return client.shared_mutex(name, given);
  return client.mutex(name, given);
}

// How long a caller is willing to wait; nothing: for ever.
std::optional<holdfast::Duration> to_patience(std::int64_t ms) {
  if (ms == HF_FOREVER) return std::nullopt;
  if (ms < 0) throw holdfast::LockError(c::invalid("the patience is negative, and not HF_FOREVER"));
  return c::to_duration(ms);
}

std::stop_token token_of(const hf_cancel* cancel) {
  return cancel ? cancel->source.get_token() : std::stop_token();
}

// Hands the outcome of an asynchronous acquire to C. A lease that cannot be handed over is given back.
void deliver(hf_granted* done, void* data, Result<Lease> granted) noexcept {
  hf_lease* lease = nullptr;
  hf_error* error = nullptr;
  const hf_code code = c::making(&lease, &error, [&] { return std::move(granted); });
  done(data, code, lease, error);
}

}  // namespace

hf_code hf_cancel_new(hf_cancel** cancel, hf_error** error) {
  return c::making(cancel, error, [] { return Result(std::stop_source()); });
}

void hf_cancel_now(hf_cancel* cancel) {
  // In a forked child, callbacks of the source would reach into a client whose mutexes may be locked.
  if (cancel && cancel->process == getpid()) cancel->source.request_stop();
}

void hf_cancel_free(hf_cancel* cancel) { delete cancel; }

hf_code hf_lock_new(hf_client* client, const char* name, size_t name_length,
                    const hf_lock_options* options, hf_lock** lock, hf_error** error) {
  return c::making(lock, error, [&]() -> Result<LockRequest> {
    return request(c::given(client, "the client").client, c::bytes(name, name_length, "the name"),
                   c::read_options(options));
  });
}

void hf_lock_free(hf_lock* lock) { delete lock; }

hf_code hf_lock_acquire(hf_lock* lock, int64_t patience_ms, hf_cancel* cancel, hf_lease** lease,
                        hf_error** error) {
  return c::making(lease, error, [&] {
    LockRequest& asked = c::given(lock, "the lock").request;
    const auto patience = to_patience(patience_ms);
    return patience ? asked.try_acquire_for(*patience, token_of(cancel))
                    : asked.acquire(token_of(cancel));
  });
}

hf_code hf_lock_try(hf_lock* lock, hf_lease** lease, hf_error** error) {
  return c::making(lease, error, [&] { return c::given(lock, "the lock").request.try_acquire(); });
}

void hf_lock_acquire_async(hf_lock* lock, int64_t patience_ms, hf_cancel* cancel, hf_granted* done,
                           void* data) {
  hf_error* error = nullptr;
  const hf_code code = c::guarded(&error, [&]() -> Result<void> {
    LockRequest& asked = c::given(lock, "the lock").request;
    const auto patience = to_patience(patience_ms);
    auto call = patience ? asked.async_try_acquire_for(*patience, token_of(cancel))
                         : asked.async_acquire(token_of(cancel));
    std::move(call).then(
        [done, data](Result<Lease> granted) { deliver(done, data, std::move(granted)); });
    return {};
  });
  if (code != HF_OK) done(data, code, nullptr, error);
}
