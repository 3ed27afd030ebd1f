// Whether /proc shows the processes of our own pid namespace. That of another one gives our numbers
// to strangers: `unshare -pf` without --mount-proc leaves such a /proc behind.
#pragma once

#include <optional>
#include <string>

namespace holdfast::cli {

// The problem, and what to mount; none if /proc can be trusted.
std::optional<std::string> problem_with_proc();

}  // namespace holdfast::cli
