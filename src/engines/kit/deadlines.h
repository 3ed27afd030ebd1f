// Deadlines: by when each request of a claim must be answered. Inside the loop only.
#pragma once

#include "base/answer_grace.h"
#include "holdfast/engine.h"

namespace holdfast::internal {

// A caller that gives up should not wait much longer. A withdrawal that is not confirmed by then makes the
// outcome `unknown`, and goes on in the background.
inline constexpr Duration kWithdrawalTime = std::chrono::seconds(1);

class Deadlines {
 public:
  // `grace`: longer than kAnswerGrace where a request that is not answered in time costs more than the wait.
  Deadlines(const Runtime& runtime, Duration request_timeout, Duration grace = kAnswerGrace)
      : runtime_(runtime), request_timeout_(request_timeout), grace_(grace) {}

  // Of one request.
  Deadline request(Deadline limit = Deadline::never()) const {
    return limit.sooner(runtime_.now() + request_timeout_);
  }
  // Of one request of a claim that waits, or that only tries: see kAnswerGrace.
  Deadline answer(const Wait& wait) const {
    return request(wait.deadline.later(runtime_.now() + grace_));
  }
  // Of what takes a claim back.
  Deadline withdrawal() const { return Deadline::at(runtime_.now() + kWithdrawalTime); }

 private:
  const Runtime& runtime_;
  Duration request_timeout_;
  Duration grace_;
};

}  // namespace holdfast::internal
