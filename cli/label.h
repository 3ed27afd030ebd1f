// The label of a command's claims: who runs what, as others see it in `holdfast ls` and while they wait.
#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

// A command line in one piece, at most 120 bytes, without the secrets that can be told from its words: logins in
// URLs, handles, and the values of options and variables whose names say so (--password, PGPASSWORD=, api-key).
std::string shown_command(const std::vector<std::string>& words);

// "alice@db1 pid 812: make deploy".
std::string label_of(const std::vector<std::string>& command);

}  // namespace holdfast::cli
