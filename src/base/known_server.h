// KnownServer: what a client knows of the server that answers it, and the guarantees that follow. One for each
// engine. Decisions about a server are pure functions from facts to findings, next to each engine (facts.h); this
// keeps their result.
//
// Thread safety: guarantees() from any thread; the rest inside the loop only.
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/examination.h"

namespace holdfast::internal {

// The guarantees of an engine, lowered to what the findings leave of them.
Guarantees lowered(Guarantees promised, const std::vector<Finding>& findings);

// A finding and its mend, as one sentence.
std::string sentence_of(const Finding& finding);

// The first finding that makes the server unfit; null if there is none.
const Finding* why_unfit(const Examination& found);
// misconfigured, with the first finding that makes the server unfit; success if there is none.
Result<void> fit(const Examination& found);

class KnownServer {
 public:
  explicit KnownServer(Guarantees promised);
  KnownServer(const KnownServer&) = delete;
  KnownServer& operator=(const KnownServer&) = delete;

  // Of the engine before the first learn(), then of the server that answered last. The reference stays valid.
  const Guarantees& guarantees() const { return *now_.load(std::memory_order_acquire); }

  // Fills in `found.guarantees`, and publishes them. misconfigured if the server is unfit.
  Result<void> learn(Examination found);
  // The last examination; nothing before the first.
  const std::optional<Examination>& last() const { return last_; }

 private:
  const Guarantees promised_;
  // Only added to, because readers keep references; as many as there are different outcomes.
  std::deque<Guarantees> all_;
  std::atomic<const Guarantees*> now_;
  std::optional<Examination> last_;
};

// The questions of an engine about its database server.
class ServerExaminer {
 public:
  virtual ~ServerExaminer() = default;
  virtual const Guarantees& guarantees() const = 0;
  virtual Task<Result<Examination>> examine(Deadline deadline) = 0;
};

// The numbers at the start of a version: 3.5.13 of "3.5.13-rc1". Missing numbers are zero.
struct VersionNumber {
  int major_number = 0;
  int minor_number = 0;
  int patch = 0;

  static VersionNumber parse(std::string_view text);
  friend auto operator<=>(const VersionNumber&, const VersionNumber&) = default;
};

// How far a server's clock is ahead: `told` is its time since 1970, `asked` and `heard` are ours around that answer.
// `unit`: how exactly it was told.
ClockDifference clock_difference(Duration told, WallTime asked, WallTime heard, Duration unit);
// The finding about it. `matters`: locks expire by the server's clock, so that setting it right by a jump ends them.
Finding clock_finding(const ClockDifference& clock, bool tokens_follow_it);

}  // namespace holdfast::internal
