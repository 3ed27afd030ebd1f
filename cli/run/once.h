// `holdfast run --once-per`, `--keep` and `--jitter`: a command that is run by one machine per period.
//
// In the order of a run: rest() and look() before the lock is taken, begin() under it before the command is started,
// end() or abandon() before the lock is given back. See holdfast/once.h for what is promised.
// Thread safety: one thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "claim_options.h"

namespace CLI {
class App;
}

namespace holdfast::cli {

// As typed.
struct OnceWords {
  std::optional<std::string> period;
  std::string at;
  std::string zone;
  bool sliding = false;
  bool even_if_failed = false;
  std::optional<std::string> keep;
  std::optional<std::string> jitter;

  void add_to(CLI::App& command);
};

struct OncePlan {
  Duration jitter{};
  std::optional<Period> period;  // none: the command runs each time
  bool even_if_failed = false;

  // Checks the words, and enters --keep into the claim. Does nothing where none were given.
  static Result<OncePlan> from(const OnceWords& words, ClaimPlan& claim);
};

class OnceTurn {
 public:
  OnceTurn(const Session& session, const OncePlan& plan, ClaimPlan& claim)
      : session_(session), plan_(plan), claim_(claim) {}

  // Sleeps for a part of the jitter.
  void rest() const;
  // Each of the two: an exit status if the command is not to be run, after saying why. Throws LockError if this engine
  // cannot do it at all.
  std::optional<int> look(Client& client);
  std::optional<int> begin(const Lease& lease);
  // The exit status for a command that ended with `status`.
  int end(int status);
  // The command was ended because its lock was lost, or nobody knows how it ended.
  void abandon();

  // This turn, in the report of the run.
  void add_to(Json& report) const;

 private:
  int tell_done(const Due& due) const;
  void tell_notes(const Due& due);
  int end_unrecorded(const Failure& why, int status);

  const Session& session_;
  const OncePlan& plan_;
  ClaimPlan& claim_;
  std::optional<Once> once_;
  std::optional<Job> ended_;
  std::string outcome_;
  std::set<std::string> told_;
};

}  // namespace holdfast::cli
