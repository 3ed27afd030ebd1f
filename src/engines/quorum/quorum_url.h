// The part of a URL with several nodes that is about the quorum.
#pragma once

#include <vector>

#include "engines/kit/url_reader.h"
#include "engines/quorum/voter.h"
#include "holdfast/options.h"
#include "wire/endpoint.h"

namespace holdfast::internal::quorum {

// The nodes; reads the options that are about the quorum, and warns of an even number of nodes.
std::vector<Endpoint> read_nodes(UrlReader& reader, std::uint16_t default_port,
                                 QuorumOptions& quorum, const ClientOptions& options);

}  // namespace holdfast::internal::quorum
