// Keeps secrets out of everything that others can see: messages, JSON and the process title.
// A secret is the login of a URL (redacted() in holdfast/text.h says where it is) or a handle, the
// key to a lock.
// Thread safety: remember_secret() and hide_arguments() first, before there are threads; then
// redact() from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// From now on redact() replaces each `secret` by `shown`.
void remember_secret(std::string_view secret, std::string_view shown);

// A message without the URLs and handles of the command line, of HOLDFAST_URL and of @FILE, each
// as a whole word and to its end: no guess is made about where a URL in a text ends. The library
// puts no others into its messages.
std::string redact(std::string_view message);

// A word of any command line without a handle, or the login of a URL, in it.
std::string without_secrets(const std::string& word);

// A word of the command line in a message: in quotes, printable, without secrets. They are looked
// for before it is cut: half a password is one too.
std::string quoted_word(std::string_view word);

// How long NAME= is in front of a URL (--on NAME=URL: see places.h); 0 if it has none. No URL begins like that.
std::size_t length_of_place_name(std::string_view word);

// Copies the arguments and removes the secrets from the originals, which everybody can read in
// /proc/PID/cmdline; a child that is forked has the same originals. That leaves the moment
// between exec and this call: a URL in a file (--on @FILE) or in HOLDFAST_URL has no such moment.
std::vector<std::string> hide_arguments(int argc, char** argv);

}  // namespace holdfast::cli
