// Ids: drawn at random, and derived from what a client draws.
#pragma once

#include <cstddef>
#include <string>

#include "holdfast/ids.h"

namespace holdfast::cli::serve {

// Of so many random bytes.
std::string random_hex(std::size_t bytes);

// The same for the same text, here and in any other daemon; nobody finds another text for it.
ClaimId claim_id_of(const std::string& text);

}  // namespace holdfast::cli::serve
