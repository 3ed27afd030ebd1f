// URLs that are refused when the client is opened, with the name of what is wrong.
#pragma once

#include <ostream>

#include "lock_testing.h"

namespace holdfast::lock_testing {

struct Wrong {
  const char* url;
  const char* said;
};

inline std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.url; }

inline std::string number_of(const testing::TestParamInfo<Wrong>& wrong) {
  return std::to_string(wrong.index);
}

// The message.
inline std::string expect_refused(const Wrong& wrong) {
  const std::string said = told(Client::open(wrong.url));
  EXPECT_THAT(said, StartsWith("invalid_argument")) << wrong.url;
  EXPECT_THAT(said, HasSubstr(wrong.said)) << wrong.url;
  EXPECT_THAT(said, Not(HasSubstr("secret"))) << wrong.url;
  return said;
}

}  // namespace holdfast::lock_testing
