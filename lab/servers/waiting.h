// Waiting for what a server does in its own time.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace holdfast::test {

// Returns as soon as the condition is true; throws std::runtime_error, naming what was awaited,
// when it is not within the limit. A condition that throws std::runtime_error counts as not yet
// true (a server that does not answer yet), and its last message is in ours.
void wait_for(const std::string& what, const std::function<bool()>& condition,
              std::chrono::milliseconds limit = std::chrono::seconds(30));

}  // namespace holdfast::test
