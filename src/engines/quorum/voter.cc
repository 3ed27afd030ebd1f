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

Task<Result<Examination>> Voter::examine(Deadline) { co_return Examination(); }

Task<Result<Examination>> examine_all(Electorate& electorate, Deadline deadline) {
  Examination all;
  std::size_t answered = 0;
  std::optional<Failure> silent;
  for (std::size_t node = 0; node < electorate.size(); ++node) {
    Voter& voter = electorate.voter(node);
    Result<Examination> one = co_await voter.examine(deadline);
    all.server += (all.server.empty() ? "" : ", ") + voter.display();
    if (!one) {
      if (!silent) silent = one.failure();
      all.findings.push_back({Severity::warning, "quorum-node-silent", one.message(),
                              "start it, or name another server in the URL"});
      continue;
    }
    ++answered;
    if (all.product.empty()) all.product = one->product;
    if (all.version.empty()) all.version = one->version;
    all.settings.push_back({voter.display(), one->product + " " + one->version});
    for (Finding& finding : one->findings) {
      finding.what = voter.display() + ": " + finding.what;
      finding.exclusion.reset();
      finding.token.reset();
      all.findings.push_back(std::move(finding));
    }
  }
  if (silent && answered < majority_of(electorate.size())) co_return *silent;
  co_return all;
}

}  // namespace holdfast::internal::quorum
