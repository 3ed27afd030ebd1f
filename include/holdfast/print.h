// Values as text: std::string, std::ostream, and std::format where the library has it (fmt: see fmt.h).
//
//   std::cout << lease->token() << ' ' << lease->name() << '\n';       42 nightly-report
//   std::cerr << released << '\n';                                     not_held: the lock 'x' had been lost …
//   auto line = std::format("{:>8}", lease->token());
//
// One line each, and printable() (see text.h): names, labels and messages come from strangers. Not for parsing.
//
// Thread safety: pure functions.
#pragma once

#include <concepts>
#include <ostream>
#include <string>
#include <string_view>
#if __has_include(<format>)
#include <format>
#endif

#include "holdfast/engine.h"
#include "holdfast/examination.h"
#include "holdfast/export.h"
#include "holdfast/ids.h"
#include "holdfast/result.h"
#include "holdfast/ticket.h"
#include "holdfast/time.h"

namespace holdfast {

HOLDFAST_API std::string to_string(const Token& token);    // "42"
HOLDFAST_API std::string to_string(const ClaimId& id);     // 32 hexadecimal digits
HOLDFAST_API std::string to_string(const Ticket& ticket);  // "42 shared"
HOLDFAST_API std::string to_string(Duration span);         // "1.5 s"
HOLDFAST_API std::string to_string(Mode mode);             // "exclusive"
HOLDFAST_API std::string to_string(Code code);             // "not_held"
HOLDFAST_API std::string to_string(Outcome outcome);       // "granted"
HOLDFAST_API std::string to_string(Exclusion value);
HOLDFAST_API std::string to_string(TokenStrength value);
HOLDFAST_API std::string to_string(WakeUp value);
HOLDFAST_API std::string to_string(Fairness value);
HOLDFAST_API std::string to_string(Severity value);
HOLDFAST_API std::string to_string(const Failure& failure);  // "unreachable: 127.0.0.1:6379 …"
// A template, so that no string is taken for a name.
template <std::same_as<Name> N>
std::string to_string(const N& name) {
  return name.display();
}

// "granted", or the failure.
template <class T>
std::string to_string(const Result<T>& result) {
  return result ? to_string(Outcome::granted) : to_string(result.failure());
}

namespace internal {

template <class T>
inline constexpr bool kPrints = false;
template <class T>
inline constexpr bool kPrints<Result<T>> = true;
template <class T, class... Of>
concept OneOf = (std::same_as<T, Of> || ...);

// The types that have a text here. (Duration is a type of the standard library, which prints its own since C++20.)
template <class T>
concept Printed =
    kPrints<T> || OneOf<T, Token, Name, ClaimId, Ticket, Mode, Code, Outcome, Exclusion,
                        TokenStrength, WakeUp, Fairness, Severity, Failure>;

}  // namespace internal

template <internal::Printed T>
std::ostream& operator<<(std::ostream& out, const T& value) {
  return out << to_string(value);
}

}  // namespace holdfast

#ifdef __cpp_lib_format
template <holdfast::internal::Printed T>
struct std::formatter<T> : std::formatter<std::string_view> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return std::formatter<std::string_view>::format(holdfast::to_string(value), context);
  }
};
#endif
