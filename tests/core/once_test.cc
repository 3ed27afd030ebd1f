// Once per period: no fault between any two steps makes two runs of a period that are recorded as done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs_server.h"

namespace holdfast::core_tests {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using Outcome = OnceResult::Outcome;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

WallTime utc(int day, std::chrono::hours hour = 3h, std::chrono::seconds more = 0s) {
  const auto date = std::chrono::sys_days(std::chrono::year(2026) / 11 / day);
  return WallTime(date.time_since_epoch() + hour + more);
}

// Short, for runs that die; no wait for servers that stay down.
constexpr OnceOptions kOptions{.lock = {.ttl = 60ms}, .wait = 2s, .even_if_failed = false};

class OnceTest : public testing::Test {
 protected:
  OnceTest() { server.clock = utc(19, 12h); }

  Once nightly(Machine& machine, const OnceOptions& options = kOptions) {
    return machine.client.once("nightly", daily("UTC"), options);
  }
  OnceResult run(Machine& machine, int status = 0) {
    return nightly(machine).run([&] {
      ++runs;
      return status;
    });
  }
  Job job() { return a.client.job("nightly").value().value(); }

  JobsServer server;
  Machine a{server, "alice@a"};
  Machine b{server, "bob@b"};
  int runs = 0;
};

TEST_F(OnceTest, TheFirstMachineRunsItAndTheOthersAreToldByWhomAndHowItEnded) {
  const OnceResult first = run(a);
  EXPECT_EQ(first.outcome, Outcome::ran);
  const OnceResult second = run(b);
  EXPECT_EQ(second.outcome, Outcome::done_already);
  ASSERT_TRUE(second.job.has_value());
  EXPECT_EQ(second.job->label, "alice@a");
  EXPECT_EQ(second.job->status, 0);
  EXPECT_EQ(second.job->period, daily("UTC").span_at(*server.clock));
  EXPECT_EQ(*second.job, *first.job);
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(server.is_locked());
  server.clock = utc(20);
  EXPECT_EQ(run(b).outcome, Outcome::ran);
  EXPECT_EQ(runs, 2);
}

TEST_F(OnceTest, ARunThatFailedIsDueAgainUnlessItCountsAllTheSame) {
  EXPECT_EQ(run(a, 3).outcome, Outcome::failed);
  EXPECT_EQ(job().status, 3);
  OnceOptions even_so = kOptions;
  even_so.even_if_failed = true;
  const OnceResult told = nightly(b, even_so).run([&] { ++runs; });
  EXPECT_EQ(told.outcome, Outcome::done_already);
  EXPECT_EQ(told.job->state, Job::State::failed);
  EXPECT_EQ(run(b).outcome, Outcome::ran);
  EXPECT_EQ(job().attempt, 2U);
  EXPECT_EQ(runs, 2);
}

TEST_F(OnceTest, ItsStepsCanBeAwaited) {
  Once once = nightly(a);
  Mutex lock = a.client.mutex("nightly", kOptions.lock);
  Result<Job> ended = Failure(Code::unknown, "not run");
  const auto steps = [&]() -> Task<void> {
    const Result<Due> seen = co_await once.async_look();
    EXPECT_EQ(seen->verdict, Due::Verdict::due);
    const Result<Lease> lease = co_await lock.async_acquire();
    const Result<Due> begun = co_await once.async_begin(*lease);
    EXPECT_EQ(begun->verdict, Due::Verdict::due);
    ended = co_await once.async_end(0);
  };
  a.client.run(steps());
  ASSERT_TRUE(ended) << ended.message();
  EXPECT_EQ(ended->state, Job::State::done);
  EXPECT_EQ(once.async_abandon().get().code(), Code::invalid_argument);
  EXPECT_EQ(run(b).outcome, Outcome::done_already);
}

TEST_F(OnceTest, AFunctionSucceedsByNothingTrueOrZero) {
  const auto outcome = [&](auto function) {
    server.records.clear();
    return nightly(a).run(function).outcome;
  };
  EXPECT_EQ(outcome([] {}), Outcome::ran);
  EXPECT_EQ(outcome([] { return true; }), Outcome::ran);
  EXPECT_EQ(outcome([] { return false; }), Outcome::failed);
  EXPECT_EQ(outcome([](const Lease& lease) { return lease.held() ? 0 : 1; }), Outcome::ran);
}

TEST_F(OnceTest, AnExceptionIsRecordedAsAFailureAndPassedOn) {
  EXPECT_THROW(nightly(a).run([] { throw std::runtime_error("no disk"); }), std::runtime_error);
  EXPECT_EQ(job().state, Job::State::failed);
  EXPECT_FALSE(server.is_locked());
}

// How many requests of a run there are to hurt.
int requests_of_a_run() {
  JobsServer server;
  server.clock = utc(19);
  Machine machine(server, "counted");
  int requests = 0;
  machine.faults = [&](Ask what) {
    if (what != Ask::renew) ++requests;
    return Fault::none;
  };
  static_cast<void>(machine.client.once("nightly", daily("UTC"), kOptions).run([] {}));
  return requests;
}

TEST_F(OnceTest, AnyOneRequestOrReplyMayBeLost) {
  const int requests = requests_of_a_run();
  ASSERT_GE(requests, 8);
  for (const Fault fault : {Fault::refuse, Fault::lost, Fault::late}) {
    for (int hurt = 0; hurt < requests; ++hurt) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + " at request " +
                   std::to_string(hurt));
      server.records.clear();
      server.take_lock_away();
      runs = 0;
      int number = 0;
      a.faults = [&](Ask what) {
        return what != Ask::renew && number++ == hurt ? fault : Fault::none;
      };
      EXPECT_EQ(run(a).outcome, Outcome::ran);
      a.faults = nullptr;
      EXPECT_EQ(run(b).outcome, Outcome::done_already);
      EXPECT_EQ(job().label, "alice@a");
      EXPECT_EQ(runs, 1);
    }
  }
}

TEST_F(OnceTest, AMachineThatIsCutOffAnywhereIsTakenOverAndNeverRecordedTwice) {
  const int requests = requests_of_a_run();
  for (const Fault fault : {Fault::refuse, Fault::lost, Fault::late}) {
    for (int last = 0; last < requests; ++last) {
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + " from request " +
                   std::to_string(last) + " on");
      server.records.clear();
      server.take_lock_away();
      runs = 0;
      Machine cut(server, "cut@off");
      int number = 0;
      bool late =
          true;  // One reply is lost after its request was executed; later requests do not even arrive.
      cut.faults = [&](Ask) {
        if (number++ < last) return Fault::none;
        return fault == Fault::late && std::exchange(late, false) ? Fault::late : Fault::refuse;
      };
      OnceOptions hurried = kOptions;
      hurried.wait = 100ms;
      const OnceResult first = nightly(cut, hurried).run([&] { ++runs; });
      const int runs_of_it = runs;
      server.take_lock_away();  // Its ttl is over.
      const OnceResult second = run(b);
      ASSERT_EQ(job().state, Job::State::done);
      if (first.outcome == Outcome::ran) {
        EXPECT_EQ(second.outcome, Outcome::done_already);
      } else if (second.outcome == Outcome::done_already) {
        // Its end was recorded, and only the reply was lost.
        EXPECT_EQ(first.outcome, Outcome::unrecorded);
        EXPECT_EQ(job().label, "cut@off");
      } else {
        EXPECT_EQ(second.outcome, Outcome::ran);
        EXPECT_EQ(job().label, "bob@b");
        // At worst one more, and it is said.
        if (runs_of_it > 0) {
          EXPECT_THAT(second.notes, Contains(HasSubstr("cut@off")));
        }
      }
      EXPECT_LE(runs, runs_of_it + 1);
      EXPECT_EQ(run(b).outcome, Outcome::done_already);
    }
  }
}

TEST_F(OnceTest, AGhostThatWasTakenOverCannotOverwriteWhatCameAfterIt) {
  Once ghost = nightly(a);
  Mutex lock = a.client.mutex("nightly", {.ttl = 10s});
  Lease lease = lock.acquire().value();
  ASSERT_EQ(ghost.begin(lease).value().verdict, Due::Verdict::due);
  server.take_lock_away();
  const OnceResult successor = run(b);
  EXPECT_EQ(successor.outcome, Outcome::ran);
  EXPECT_THAT(successor.notes, Contains(HasSubstr("alice@a")));

  const Result<Job> ended = ghost.end(0);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.code(), Code::not_held);
  EXPECT_THAT(ended.message(), HasSubstr("bob@b"));
  EXPECT_EQ(job().label, "bob@b");
  EXPECT_FALSE(ghost.end(0).ok()) << "an end without a beginning";
}

TEST_F(OnceTest, AGhostThatIsPausedBeforeItBeginsRunsNothing) {
  // Between its look at the record and its own entry another machine does the whole job.
  Lease lease = a.client.mutex("nightly", {.ttl = 10s}).acquire().value();
  bool first = true;
  a.faults = [&](Ask what) {
    if (what == Ask::swap && std::exchange(first, false)) {
      server.take_lock_away();
      EXPECT_EQ(run(b).outcome, Outcome::ran);
    }
    return Fault::none;
  };
  const Result<Due> begun = nightly(a).begin(lease);
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.code(), Code::not_held);
  EXPECT_EQ(job().label, "bob@b");
}

TEST_F(OnceTest, AGhostThatMeetsARunUnderWayRunsNothing) {
  Lease old = a.client.mutex("nightly", {.ttl = 10s}).acquire().value();
  server.take_lock_away();
  Lease current = b.client.mutex("nightly", {.ttl = 10s}).acquire().value();
  Once running = nightly(b);
  ASSERT_TRUE(running.begin(current).ok());
  const Result<Due> begun = nightly(a).begin(old);
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.code(), Code::not_held);
  EXPECT_TRUE(running.end(0).ok());
}

TEST_F(OnceTest, ALeaseThatEndsWhileItsRunIsBegunLeavesNoRunBehind) {
  Lease lease = a.client.mutex("nightly", {.ttl = 60ms, .auto_renew = false}).acquire().value();
  a.faults = [&](Ask what) {
    if (what == Ask::swap && lease.held()) std::this_thread::sleep_for(100ms);
    return Fault::none;
  };
  const Result<Due> begun = nightly(a).begin(lease);
  EXPECT_EQ(begun.code(), Code::not_held);
  EXPECT_EQ(server.record("nightly"), std::nullopt);
}

TEST_F(OnceTest, ARunThatWasEndedForItsLostLockIsDueAgain) {
  Once once = nightly(a);
  Lease lease = a.client.mutex("nightly", {.ttl = 10s}).acquire().value();
  ASSERT_TRUE(once.begin(lease).ok());
  EXPECT_TRUE(once.abandon().ok());
  EXPECT_EQ(job().state, Job::State::lost);
  server.take_lock_away();
  EXPECT_EQ(run(b).outcome, Outcome::ran);
}

TEST_F(OnceTest, AnEngineThatComesBackInTimeIsWaitedFor) {
  int left = 6;
  a.faults = [&](Ask) { return left-- > 0 ? Fault::refuse : Fault::none; };
  EXPECT_EQ(run(a).outcome, Outcome::ran);
}

TEST_F(OnceTest, AnEngineThatStaysAwayEndsTheWait) {
  a.faults = [](Ask) { return Fault::refuse; };
  OnceOptions hurried = kOptions;
  hurried.wait = 50ms;
  const OnceResult result = nightly(a, hurried).run([&] { ++runs; });
  EXPECT_EQ(result.outcome, Outcome::error);
  EXPECT_EQ(result.failure->code(), Code::unreachable);
  EXPECT_EQ(runs, 0);
}

TEST_F(OnceTest, AStoreThatTakesNoRecordRunsNothing) {
  a.faults = [](Ask what) { return what == Ask::swap ? Fault::refuse : Fault::none; };
  const OnceResult result = run(a);
  EXPECT_EQ(result.outcome, Outcome::error);
  EXPECT_EQ(runs, 0);
}

TEST_F(OnceTest, AnEndThatCannotBeRecordedIsSaid) {
  a.faults = [&](Ask what) { return what == Ask::swap && runs > 0 ? Fault::refuse : Fault::none; };
  const OnceResult result = run(a);
  EXPECT_EQ(result.outcome, Outcome::unrecorded);
  EXPECT_EQ(result.failure->code(), Code::unreachable);
  EXPECT_EQ(job().state, Job::State::running);
}

TEST_F(OnceTest, ClocksThatDifferRunItOncePerPeriodAllTheSame) {
  for (const auto behind : {2s, 7200s, 86'399s}) {
    server.records.clear();
    int done = 0;
    for (int day = 10; day < 20; ++day) {
      a.own_clock = utc(day, 3h);
      b.own_clock = utc(day, 3h) - behind;
      for (Machine* machine : {&a, &b, &a}) done += run(*machine).outcome == Outcome::ran ? 1 : 0;
      EXPECT_EQ(job().period.start, utc(day, 0h));
    }
    EXPECT_EQ(done, 10);
  }
}

TEST_F(OnceTest, AClockThatJumpsDuringARunChangesNothing) {
  const OnceResult result = nightly(a).run([&] { server.clock = utc(21); });
  EXPECT_EQ(result.job->period.start, utc(19, 0h));
  EXPECT_LT(*result.job->ended - result.job->started, 10s);
}

TEST_F(OnceTest, APeriodAheadOfOurClockIsDoneAndSaid) {
  a.own_clock = utc(20, 1h);
  EXPECT_EQ(run(a).outcome, Outcome::ran);
  b.own_clock = utc(19, 23h);
  const OnceResult behind = run(b);
  EXPECT_EQ(behind.outcome, Outcome::done_already);
  EXPECT_THAT(behind.notes, Contains(HasSubstr("clock is behind")));
}

TEST_F(OnceTest, AClockThatWasWrongByAYearDoesNotSilenceTheJob) {
  a.own_clock =
      WallTime(std::chrono::sys_days(std::chrono::year(2027) / 11 / 19).time_since_epoch());
  EXPECT_EQ(run(a).outcome, Outcome::ran);
  const OnceResult result = run(b);
  EXPECT_EQ(result.outcome, Outcome::error);
  EXPECT_EQ(result.failure->code(), Code::misconfigured);
  EXPECT_THAT(result.failure->message(), HasSubstr("--forget"));
  EXPECT_TRUE(b.client.forget_job("nightly").value());
  EXPECT_EQ(run(b).outcome, Outcome::ran);
}

TEST_F(OnceTest, TheDifferenceBetweenTheClocksIsToldFromASecondOn) {
  const WallTime ours =
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  server.clock = ours + 2h;
  const Result<Due> due = nightly(a).look();
  EXPECT_GT(due->clock_difference.value(), 2h - 10s);
  EXPECT_THAT(due->notes, Contains(HasSubstr("behind the engine's")));
  server.clock = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  EXPECT_THAT(nightly(a).look()->notes, IsEmpty());
}

TEST_F(OnceTest, TwoMachinesWithDifferentPeriodsAreBothKept) {
  EXPECT_EQ(run(a).outcome, Outcome::ran);  // for the 19th
  server.clock = utc(19, 15h);
  Once hourly_too = b.client.once("nightly", hourly(), kOptions);
  const OnceResult sooner = hourly_too.run([&] { ++runs; });
  EXPECT_EQ(sooner.outcome, Outcome::done_already) << "the day of the other one is not over";
  EXPECT_THAT(sooner.notes, Contains(HasSubstr("1d at 00:00 in UTC, not 1h at 00:00 in UTC")));
  server.clock = utc(20, 0h, 10s);
  EXPECT_EQ(hourly_too.run([&] { ++runs; }).outcome, Outcome::ran);
  server.clock = utc(20, 5h);
  EXPECT_EQ(run(a).outcome, Outcome::done_already) << "on the 20th it was run";
}

TEST_F(OnceTest, AMachineThatComesAMomentTooEarlyMeansTheNextPeriod) {
  a.own_clock = utc(19, 3h);
  EXPECT_EQ(run(a).outcome, Outcome::ran);
  // By a clock that is half a second ahead, cron begins on the 19th; without a wait the 20th would have no run.
  a.own_clock = utc(20, 0h) - 500ms;
  Result<Due> due = nightly(a).look();
  EXPECT_EQ(due->verdict, Due::Verdict::early);
  EXPECT_EQ(due->begins_in, 500ms);
  EXPECT_EQ(due->period.start, utc(20, 0h));
  // The clock of this test stands still unless it is moved.
  std::atomic<int> looks = 0;
  a.faults = [&](Ask what) {
    if (what == Ask::clock && ++looks > 1) a.own_clock = utc(20, 0h);
    return Fault::none;
  };
  const OnceResult result = run(a);
  EXPECT_EQ(result.outcome, Outcome::ran);
  EXPECT_EQ(result.job->period.start, utc(20, 0h));
}

TEST_F(OnceTest, ASlidingPeriodBeginsWithTheRun) {
  const auto outcome = [&] {
    return a.client.once("nightly", every(1h), kOptions).run([] {}).outcome;
  };
  server.clock = utc(19, 12h, 40s);
  EXPECT_EQ(outcome(), Outcome::ran);
  server.clock = utc(19, 13h, 39s);
  EXPECT_EQ(outcome(), Outcome::done_already);
  server.clock = utc(19, 13h, 40s);
  EXPECT_EQ(outcome(), Outcome::ran);
}

TEST_F(OnceTest, ARecordThatIsNoJobsIsAnErrorAndNothingIsRun) {
  for (const std::string& strange :
       {std::string("hello"), std::string("holdfast-job 2\nstate done\n"), std::string(),
        std::string("holdfast-job 1\nstate done\n"), std::string(2000, '\0')}) {
    server.records["nightly"] = strange;
    const OnceResult result = run(a);
    EXPECT_EQ(result.outcome, Outcome::error);
    EXPECT_EQ(result.failure->code(), Code::misconfigured);
    EXPECT_EQ(a.client.job("nightly").code(), Code::misconfigured);
  }
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(server.records["nightly"].size(), 2000U);
}

TEST_F(OnceTest, APeriodThatARunCouldOutliveIsRefused) {
  const auto refused = [&](const Period& period, const LockOptions& lock) {
    try {
      a.client.once("x", period, {.lock = lock, .wait = {}});
    } catch (const LockError& error) {
      return error.code() == Code::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused(every(10s), {.ttl = 30s}));
  EXPECT_TRUE(refused(daily("UTC"), {.ttl = 30s, .keep = 24h}));
  EXPECT_FALSE(refused(every(10s), {.ttl = 5s}));
}

}  // namespace
}  // namespace holdfast::core_tests
