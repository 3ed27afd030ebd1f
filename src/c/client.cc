#include "c/handles.h"

namespace c = holdfast::c;
using holdfast::Result;

namespace {

holdfast::Name named(const char* name, std::size_t length) {
  return {c::bytes(name, length, "the name")};
}

}  // namespace

hf_code hf_client_open(const char* url, const hf_client_options* options, hf_client** client,
                       hf_error** error) {
  return c::making(client, error, [&]() -> Result<holdfast::Client> {
    const hf_client_options given = c::read_options(options);
    holdfast::ClientOptions result;
    result.label = c::bytes(given.label, given.label_length, "the label");
    if (given.request_timeout_ms < 0 || given.release_timeout_ms < 0) {
      return c::invalid("a timeout is negative; 0 is the default");
    }
    if (given.request_timeout_ms > 0)
      result.request_timeout = c::to_duration(given.request_timeout_ms);
    if (given.release_timeout_ms > 0)
      result.release_timeout = c::to_duration(given.release_timeout_ms);
    return holdfast::Client::open(url ? url : "", std::move(result));
  });
}

void hf_client_free(hf_client* client) { delete client; }

hf_code hf_client_ping(hf_client* client, hf_error** error) {
  return c::guarded(error, [&] { return c::given(client, "the client").client.ping(); });
}

hf_code hf_client_guarantees(const hf_client* client, hf_guarantees* guarantees, hf_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    hf_guarantees& out = c::given(guarantees, "the structure for the guarantees");
    const holdfast::Guarantees& from = c::given(client, "the client").client.guarantees();
    c::fill(out, {.size = 0,
                  .engine = from.engine.c_str(),
                  .recipe = from.recipe.c_str(),
                  .exclusion = static_cast<hf_exclusion>(from.exclusion),
                  .token = static_cast<hf_token_strength>(from.token),
                  .shared_mode = from.shared_mode,
                  .permit_mode = from.permit_mode,
                  .pushes = from.wake_up == holdfast::WakeUp::push,
                  .in_order = from.fairness == holdfast::Fairness::fifo,
                  .min_ttl_ms = c::to_ms(from.min_ttl)});
    return {};
  });
}

hf_code hf_client_adopt(hf_client* client, const char* handle, const hf_lock_options* options,
                        hf_lease** lease, hf_error** error) {
  return c::making(lease, error, [&]() -> Result<holdfast::Lease> {
    auto parsed = holdfast::Handle::parse(&c::given(handle, "the handle"));
    if (!parsed) return parsed.failure();
    return c::given(client, "the client")
        .client.adopt(*parsed, c::to_options(c::read_options(options)));
  });
}

hf_code hf_client_release(hf_client* client, const char* handle, hf_error** error) {
  return c::guarded(error, [&]() -> Result<void> {
    auto parsed = holdfast::Handle::parse(&c::given(handle, "the handle"));
    if (!parsed) return parsed.failure();
    return c::given(client, "the client").client.release(*parsed);
  });
}

hf_code hf_client_evict(hf_client* client, const char* name, size_t name_length, uint64_t token,
                        hf_error** error) {
  return c::guarded(error, [&] {
    return c::given(client, "the client")
        .client.evict(named(name, name_length), holdfast::Token(token));
  });
}

hf_code hf_client_list(hf_client* client, const char* prefix, size_t prefix_length,
                       hf_locks** locks, hf_error** error) {
  return c::making(locks, error, [&] {
    return c::given(client, "the client")
        .client.list(std::string(c::bytes(prefix, prefix_length, "the prefix")));
  });
}

hf_code hf_client_inspect(hf_client* client, const char* name, size_t name_length, hf_locks** locks,
                          hf_error** error) {
  return c::making(locks, error, [&]() -> Result<std::vector<holdfast::LockInfo>> {
    auto info = c::given(client, "the client").client.inspect(named(name, name_length));
    if (!info) return info.failure();
    return std::vector{std::move(info).value()};
  });
}
