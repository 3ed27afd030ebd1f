// The types of print.h for the library fmt: fmt::print("token {}\n", lease->token()). Your program brings fmt (9 or
// later); no other header of Holdfast includes it.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "holdfast/print.h"

template <holdfast::internal::Printed T>
struct fmt::formatter<T> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return fmt::formatter<std::string_view>::format(holdfast::to_string(value), context);
  }
};
