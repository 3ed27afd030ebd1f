// Ids: drawn at random, and such that a key's are recognised.
#pragma once

#include <cstddef>
#include <string>

#include "holdfast/ids.h"

namespace holdfast::cli::serve {

// Of so many random bytes.
std::string random_hex(std::size_t bytes);

// Half of it is the same for the same text, here and in any other daemon, and nobody finds another text for it; the
// other half is drawn.
ClaimId claim_id_for(const std::string& text);
bool is_claim_of(const ClaimId& id, const std::string& text);

// As long as any text, and different for each.
std::string digest_of(const std::string& text);

}  // namespace holdfast::cli::serve
