// Values from C to C++ and back.
#include <chrono>

#include "c/handles.h"
#include "holdfast/version.h"

namespace holdfast::c {

namespace {

// The codes of the library come in this order, after HF_OK.
static_assert(static_cast<int>(Code::busy) + 1 == HF_BUSY);
static_assert(static_cast<int>(Code::unknown) + 1 == HF_UNKNOWN);
static_assert(static_cast<int>(Code::not_held) + 1 == HF_NOT_HELD);
static_assert(static_cast<int>(Code::unreachable) + 1 == HF_UNREACHABLE);
static_assert(static_cast<int>(Code::would_deadlock) + 1 == HF_WOULD_DEADLOCK);
static_assert(static_cast<int>(Code::exhausted) + 1 == HF_EXHAUSTED);
static_assert(static_cast<int>(Mode::permit) == HF_PERMIT);
static_assert(static_cast<int>(Exclusion::linearizable) == HF_LINEARIZABLE);
static_assert(static_cast<int>(TokenStrength::linearizable) == HF_TOKEN_LINEARIZABLE);

// C may bring any number.
template <class To>
To checked_enum(std::int32_t value, std::int32_t greatest, const char* what) {
  if (value < 0 || value > greatest) {
    throw LockError(invalid(std::to_string(value) + " is no " + what));
  }
  return static_cast<To>(value);
}

hf_code to_code(Code code) { return static_cast<hf_code>(static_cast<int>(code) + 1); }

}  // namespace

hf_code report(const Failure& failure, hf_error** error) noexcept {
  if (error) {
    try {
      *error = new hf_error{failure};
    } catch (...) {
      *error = nullptr;
    }
  }
  return to_code(failure.code());
}

hf_code report_current(hf_error** error) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return HF_EXHAUSTED;  // There is no memory for a message either.
  } catch (...) {
    try {
      return report(internal::current_failure(), error);
    } catch (...) {
      return HF_EXHAUSTED;
    }
  }
}

Failure forked_lease() {
  return {
      Code::forked,
      "this lease belongs to the parent process; acquire one with a client that was opened here"};
}

Duration to_duration(std::int64_t ms) {
  return internal::to_patience(std::chrono::duration<std::int64_t, std::milli>(ms));
}

std::int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::int64_t to_ms(const std::optional<Duration>& duration) {
  return duration ? std::max<std::int64_t>(0, to_ms(*duration)) : -1;
}

Mode to_mode(hf_mode mode) { return checked_enum<Mode>(mode, HF_PERMIT, "hf_mode"); }
hf_mode from_mode(Mode mode) { return static_cast<hf_mode>(mode); }

Exclusion to_exclusion(hf_exclusion exclusion) {
  return checked_enum<Exclusion>(exclusion, HF_LINEARIZABLE, "hf_exclusion");
}

TokenStrength to_strength(hf_token_strength strength) {
  return checked_enum<TokenStrength>(strength, HF_TOKEN_LINEARIZABLE, "hf_token_strength");
}

LockOptions to_options(const hf_lock_options& options) {
  LockOptions result;
  if (options.ttl_ms != 0) result.ttl = to_duration(options.ttl_ms);
  if (options.warn_before_ms != 0) result.warn_before = to_duration(options.warn_before_ms);
  result.auto_renew = options.no_renewal == 0;
  result.require.exclusion = to_exclusion(options.exclusion);
  result.require.token = to_strength(options.token);
  return result;
}

}  // namespace holdfast::c

using holdfast::c::fill;

int hf_c_version(void) { return HOLDFAST_C_VERSION; }
const char* hf_version(void) { return HOLDFAST_VERSION; }

const char* hf_code_name(hf_code code) {
  if (code == HF_OK) return "ok";
  if (code < 0 || code > HF_EXHAUSTED) return "unknown_code";
  return holdfast::code_name(static_cast<holdfast::Code>(code - 1));
}

void hf_error_free(hf_error* error) { delete error; }

hf_code hf_error_code(const hf_error* error) {
  return error ? holdfast::c::to_code(error->failure.code()) : HF_OK;
}

const char* hf_error_message(const hf_error* error) {
  return error ? error->failure.message().c_str() : "";
}

int hf_error_busy(const hf_error* error, hf_busy* busy) {
  const holdfast::Busy* found = error ? error->failure.busy() : nullptr;
  if (!found || !busy) return 0;
  fill(*busy, {.size = 0,
               .lock = found->lock.c_str(),
               .holder = found->holder.c_str(),
               .rank = found->rank,
               .token = found->token,
               .expires_in_ms = holdfast::c::to_ms(found->expires_in)});
  return 1;
}
