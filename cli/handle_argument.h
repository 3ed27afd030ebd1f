// The HANDLE arguments of `renew` and `release`: what `holdfast acquire` printed, a word for each lock. One argument
// may have several, as "$handles" has; "-" reads them from standard input, where no other user can see them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "commands.h"

namespace holdfast::cli {

void add_handles(CLI::App& command, std::vector<std::string>& words);

// All of them are handles, or none is touched.
Result<std::vector<Handle>> read_handles(const std::vector<std::string>& words);

// Does `act` to each handle, tells of each that failed, and prints the others with "done": true in JSON. Returns
// the status of the first failure.
int for_each_handle(const Session& session, const std::vector<std::string>& words, const char* done,
                    const std::function<Result<void>(Client&, const Handle&)>& act);

}  // namespace holdfast::cli
