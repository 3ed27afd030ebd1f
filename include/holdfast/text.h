// Text from elsewhere, made fit for people's eyes. Anybody who can reach a store chooses lock names,
// holders' labels (HolderInfo::label, Leader::value) and a server's error texts: printed as they
// are, they can move the cursor, retitle a terminal, forge a line of a log or reverse what follows.
//
// Messages of Failure and LockError, texts of Observer::on_warning, Busy::holder and Name::display()
// have been through printable() already. Names and labels themselves are data and have not.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "holdfast/export.h"

namespace holdfast {

// Fits on one line of a terminal or a log: printable UTF-8 as it is, every other byte as \xNN.
// Not printable are control characters (C0, C1, DEL), invalid UTF-8, and characters that are not
// seen or that reorder others: bidirectional controls, zero-width characters, line separators.
// Longer text is cut after `max_bytes` bytes with "... (N bytes)". Applied twice it changes nothing.
HOLDFAST_API std::string printable(std::string_view text, std::size_t max_bytes = 4096);

// A URL, or anything that was meant to be one, without its secrets: for messages and logs. The
// parser that opens URLs decides where the password is. Passwords, a user without a password, and
// the values of options that no engine has are replaced by ***; where the text is ambiguous (it has
// an @ or # where a URL has none, or a port that is no number), all that follows the scheme.
// The result is printable().
HOLDFAST_API std::string redacted(std::string_view url);

}  // namespace holdfast
