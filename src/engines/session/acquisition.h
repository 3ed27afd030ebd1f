// Acquisition: one claim's way to its lock: try, wait in the server, draw a token, confirm. Inside
// the loop only.
#pragma once

#include <memory>
#include <optional>

#include "engines/kit/deadlines.h"
#include "engines/session/held.h"
#include "engines/session/orphaned_sessions.h"
#include "engines/session/sessions.h"
#include "sql/answer_grace.h"

namespace holdfast::internal::session {

// Whether the last row of the answer says that we have the lock.
bool has_it(const SqlOutcome& outcome);

class Acquisition {
 public:
  // Fills in the session, the token and the time of `held`. All must outlive the acquisition.
  Acquisition(Runtime& runtime, Recipe& recipe, Sessions& sessions, Duration request_timeout,
              Held& held, const Wait& wait, OrphanedSessions& orphans)
      : runtime_(runtime),
        recipe_(recipe),
        sessions_(sessions),
        request_timeout_(request_timeout),
        deadlines_(runtime, request_timeout, kSqlAnswerGrace),
        held_(held),
        wait_(wait),
        orphans_(orphans) {}

  // Succeeds when the lock is held. Else nothing of it is left, and no session is in use; except
  // after `unknown`, when the claim's orphan must be ended.
  Task<Result<void>> run();

 private:
  enum class Step { locked, busy, again, over };

  Task<Result<void>> open();
  // One short call; nothing if its answer did not come in time, or the caller left. The session
  // is given up then.
  Task<std::optional<SqlOutcome>> ask(Batch batch);
  Task<Step> try_once();
  Task<Step> wait_in_server();
  // Until wait() is answered. Nothing if the server says that it was, and no answer came: the connection
  // is dead. Asks every half ttl, at most every 15 s.
  Task<std::optional<Woken>> wait_for_answer(Deadline until);
  // Whether the server still runs our wait(), as far as it can be asked.
  Task<bool> waits_in_server();
  Step replace_silent_session();
  // Ends the wait that is under way in the session. False if that failed.
  Task<bool> interrupt();
  Task<Step> draw_token();
  Task<std::optional<SqlOutcome>> draw_elsewhere();
  Task<Step> confirm();
  Task<Step> judge(const SqlOutcome& outcome);
  Task<Step> make_tables();
  // Its rows are missing, or it was taken away since it was ours.
  Task<Step> start_over();
  // Waits until nobody can believe in a grant of the server's previous life. REQUIRES: nothing is held.
  Task<Step> sit_out(Duration quarantine);
  // Makes sure that nothing is held in the session. False if it had to be given up.
  Task<bool> clear();
  Task<Step> clear_and_ask_again();
  Task<Failure> busy();
  // Gives back what there may be, and says why.
  Task<Step> leave(Failure why);
  // The same when somebody else has it, which it says.
  Task<Step> leave_busy();
  Task<void> abandon();

  Runtime& runtime_;
  Recipe& recipe_;
  Sessions& sessions_;
  Duration request_timeout_;
  const Deadlines deadlines_;
  Held& held_;
  const Wait& wait_;
  OrphanedSessions& orphans_;
  std::optional<Failure> why_;       // for Step::over
  std::optional<SqlOutcome> drawn_;  // the answer by which the lock is ours
  int lost_sessions_ = 0;
  int rounds_ = 0;
  bool waited_ = false;
};

}  // namespace holdfast::internal::session
