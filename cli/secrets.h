// Keeps passwords out of everything that others can see: messages, JSON and the process title.
// Thread safety: all of it, except hide_arguments (call it first in main).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// `text` with the passwords of all URLs in it replaced by asterisks of the same length. Rather
// hides too much than too little: a password that was not escaped may contain '/' or '@'.
std::string redact(std::string_view text);

// Copies the arguments and overwrites the passwords in the originals, which everybody can read in
// /proc/PID/cmdline. What remains is the moment between exec and this call: a URL in a file
// (--on @FILE) or in HOLDFAST_URL has no such moment.
std::vector<std::string> hide_arguments(int argc, char** argv);

}  // namespace holdfast::cli
