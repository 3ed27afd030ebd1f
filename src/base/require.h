// HOLDFAST_REQUIRE(condition): a contract between parts of this library, checked. If it is broken, the process
// ends with a line on standard error: a lock that goes on after its own rules were broken could let two in.
// Users' input is not checked by this, but answered with a Result or a LockError.
//
// HOLDFAST_REQUIRE is always on; use it where it costs next to nothing. HOLDFAST_REQUIRE_DEBUG is for the
// rest: on in debug and sanitizer builds (without NDEBUG).
#pragma once

namespace holdfast::internal {

[[noreturn]] void requirement_broken(const char* condition, const char* file, int line) noexcept;

}  // namespace holdfast::internal

#define HOLDFAST_REQUIRE(condition)                  \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::holdfast::internal::requirement_broken(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define HOLDFAST_REQUIRE_DEBUG(condition) static_cast<void>(sizeof(!(condition)))
#else
#define HOLDFAST_REQUIRE_DEBUG(condition) HOLDFAST_REQUIRE(condition)
#endif
