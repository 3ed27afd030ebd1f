// What a URL says that names several nodes.
#pragma once

#include <span>
#include <vector>

#include "base/url.h"
#include "engines/quorum/voter.h"
#include "holdfast/options.h"
#include "wire/endpoint.h"

namespace holdfast::internal::quorum {

// What is particular to the kind of node.
struct UrlForm {
  std::uint16_t port;
  const char* how;                             // "write KIND://HOST,HOST,HOST"
  std::initializer_list<const char*> options;  // beside those about the quorum
};

// The nodes; and takes the options that are about the quorum out of the query. invalid_argument if
// something is wrong with it. An even number of nodes is warned of.
Result<std::vector<Endpoint>> take_nodes(Url& url, const UrlForm& form, QuorumOptions& quorum,
                                         const ClientOptions& options);

}  // namespace holdfast::internal::quorum
