// The part of the scripts that decides who of the queue is next.
#pragma once

#include <string>

namespace holdfast::internal::redis {

// Lua. Expects what scripts.cc defines: word, queue, holds, now_us, GROUP, admits(), grant().
std::string serving_source();

}  // namespace holdfast::internal::redis
