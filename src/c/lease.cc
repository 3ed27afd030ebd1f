#include <cstdlib>
#include <cstring>

#include "c/handles.h"

namespace c = holdfast::c;
using holdfast::Lease;
using holdfast::Result;

hf_lease::hf_lease(Lease granted)
    : name(granted.name()),
      token(granted.token()),
      mode(granted.mode()),
      lease(std::move(granted)) {}

hf_lease::~hf_lease() {
  if (!forked()) return;
  // A callback may have been running when the process forked: its end would be waited for, for ever.
  for (auto& callback : callbacks) static_cast<void>(callback.release());
}

Lease hf_lease::take() {
  const std::lock_guard lock(state);
  return std::exchange(lease, Lease());
}

void hf_lease::put_back(Lease kept) {
  const std::lock_guard lock(state);
  lease = std::move(kept);
}

namespace {

// Runs `body` on the lease of `handle`, alone among the calls that take time.
template <class F>
hf_code calling(hf_lease* handle, hf_error** error, F&& body) noexcept {
  return c::guarded(error, [&]() -> Result<void> {
    hf_lease& own = c::given(handle, "the lease");
    if (own.forked()) return c::forked_lease();
    const std::lock_guard alone(own.calls);
    return std::forward<F>(body)(own);
  });
}

Result<void> release(hf_lease& own) {
  Lease lease = own.take();
  Result<void> outcome = lease.release();
  if (lease) own.put_back(std::move(lease));  // The call could not be made.
  return outcome;
}

Result<std::string> detach(hf_lease& own) {
  Lease lease = own.take();
  auto handle = lease.detach();
  if (lease) own.put_back(std::move(lease));
  if (!handle) return handle.failure();
  return handle->text();
}

void deliver_release(hf_released* done, void* data, const Result<void>& outcome) noexcept {
  hf_error* error = nullptr;
  const hf_code code = outcome ? HF_OK : c::report(outcome.failure(), &error);
  done(data, code, error);
}

// Text that C frees with hf_text_free().
char* copied(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

void hf_lease_free(hf_lease* lease) { delete lease; }

uint64_t hf_lease_token(const hf_lease* lease) { return lease ? lease->token.value() : 0; }

hf_mode hf_lease_mode(const hf_lease* lease) {
  return lease ? c::from_mode(lease->mode) : HF_EXCLUSIVE;
}

const char* hf_lease_name(const hf_lease* lease, size_t* length) {
  if (length) *length = lease ? lease->name.bytes().size() : 0;
  return lease ? lease->name.bytes().c_str() : "";
}

int hf_lease_held(const hf_lease* lease) {
  if (!lease || lease->forked()) return 0;
  const std::lock_guard lock(lease->state);
  return lease->lease.held();
}

int64_t hf_lease_valid_until_ns(const hf_lease* lease) {
  if (!lease || lease->forked()) return 0;
  const std::lock_guard lock(lease->state);
  return lease->lease ? lease->lease.valid_until().time_since_epoch().count() : 0;
}

hf_code hf_lease_on_lost(hf_lease* lease, void (*lost)(void* data), void* data, hf_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    hf_lease& own = c::given(lease, "the lease");
    if (own.forked()) return c::forked_lease();
    if (!lost) return c::invalid("the callback is NULL");
    std::stop_token signal;
    {
      const std::lock_guard lock(own.state);
      signal = own.lease.lost();
    }
    // Outside the mutex: where the lock is lost already it is called here, and may ask held().
    auto callback = std::make_unique<c::LostCallback>(std::move(signal), c::OnLost{lost, data});
    const std::lock_guard lock(own.state);
    own.callbacks.push_back(std::move(callback));
    return {};
  });
}

hf_code hf_lease_renew(hf_lease* lease, hf_error** error) {
  return calling(lease, error, [](hf_lease& own) { return own.lease.renew(); });
}

hf_code hf_lease_release(hf_lease* lease, hf_error** error) {
  return calling(lease, error, [](hf_lease& own) { return release(own); });
}

void hf_lease_release_async(hf_lease* lease, hf_released* done, void* data) {
  hf_error* error = nullptr;
  const hf_code code = calling(lease, &error, [&](hf_lease& own) -> Result<void> {
    Lease taken = own.take();
    taken.async_release().then(
        [done, data](const Result<void>& outcome) { deliver_release(done, data, outcome); });
    return {};
  });
  if (code != HF_OK) done(data, code, error);
}

hf_code hf_lease_detach(hf_lease* lease, char** handle, hf_error** error) {
  if (handle) *handle = nullptr;
  return calling(lease, error, [&](hf_lease& own) -> Result<void> {
    c::given(handle, "the pointer for the handle");
    const Result<std::string> text = detach(own);
    if (!text) return text.failure();
    *handle = copied(*text);
    return {};
  });
}

void hf_text_free(char* text) { std::free(text); }
