#include "engines/quorum/voter.h"

#include <numeric>

#include "engines/quorum/tally.h"

namespace holdfast::internal::quorum {

std::vector<std::size_t> nodes_to_ask(Electorate& electorate) {
  std::vector<std::size_t> nodes;
  for (std::size_t node = 0; node < electorate.size(); ++node) {
    if (electorate.voter(node).responsive()) nodes.push_back(node);
  }
  if (nodes.size() >= majority_of(electorate.size())) return nodes;
  nodes.resize(electorate.size());
  std::iota(nodes.begin(), nodes.end(), std::size_t{0});
  return nodes;
}

}  // namespace holdfast::internal::quorum
