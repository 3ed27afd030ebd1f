// holdfast run: run a command under a lock.
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "claim_options.h"
#include "commands.h"
#include "duration.h"
#include "interrupt.h"
#include "program.h"
#include "run/claiming.h"
#include "run/command_words.h"
#include "run/guard.h"
#include "run/held_locks.h"
#include "run/once.h"
#include "run/proc_mount.h"
#include "run/process_tree.h"
#include "run/reentry.h"
#include "run/renewal_feed.h"
#include "run/runner.h"
#include "run/service_notifier.h"

namespace holdfast::cli {
namespace {

constexpr const char* kRunExamples = R"(Examples:
  holdfast run nightly-report --once-per 1d --at 03:00 --zone Europe/Berlin -- ./report.sh
  holdfast run deploy --no-wait -- make deploy || echo "somebody deploys already"
  holdfast run disk --permits 4 --wait 10m -- rsync -a src/ dst/
  holdfast run migrate --isolate -- ./migrate.sh
  holdfast run stock ledger -- ./book.sh          # both or none
  holdfast run cleanup -n -c 'rm -rf /srv/tmp/* && date > /srv/last'
  holdfast run demo -- sh -c 'echo "my fencing token is $HOLDFAST_TOKEN"'

CMD runs in a process group of its own with HOLDFAST_NAME, HOLDFAST_TOKEN, HOLDFAST_MODE,
HOLDFAST_OWNER and HOLDFAST_VALID_UNTIL_MS in its environment. If the lock is lost, CMD and all its descendants are
ended (SIGTERM, then SIGKILL) before anybody else can hold it. Of several names it takes all or
none; HOLDFAST_NAME_1 and HOLDFAST_TOKEN_1, …_2 and so on are theirs as you gave them, HOLDFAST_LOCKS
has them as JSON, and the loss of one ends CMD. When CMD ends by itself the lock is
released, even if it left background processes behind. CMD and its descendants also end if two of
the three processes of holdfast (holdfast, holdfast-guard, lock-keeper) are killed at once.

While it waits, it tells on standard error for what: a line that is kept up to date on a terminal, else
one each minute. A run that would wait for itself, because one above it holds the lock, is refused (64).

With --once-per CMD runs only if no machine has done it in this period; else the status is 0 at once, and
standard error says who did it, when, and how it ended (`holdfast jobs` shows it again). A run that failed, or
died, does not count. Without --wait it waits until the period ends: for a machine that is at it, and for an
engine that is down. Put --once-per, not the lock alone, before a job that cron starts on several machines.
--keep 15m holds the lock for at least 15 minutes from when it was taken.

With --isolate CMD runs in a pid namespace of its own, which the kernel ends as one even if all three
are killed: process numbers begin at 1, ps shows CMD's processes only, background processes end with
CMD, and without root's rights sudo does not work in it. --isolate needs root or user namespaces.

With --json CMD's standard output goes to
standard error and a report to standard output.

Exit status: CMD's own (128+N if it died of signal N); 64 bad usage, 69 engine unreachable,
75 not acquired in time, 76 lock lost, 78 bad configuration, 126 or 127 CMD cannot be run.)";

// Blocks what we forward, and SIGTTOU: we handle the terminal from the background. Ignored signals
// (nohup) stay as they are, for us and for the command.
sigset_t block_signals(Command& command) {
  sigset_t signals = without_ignored(forwarded_signals());
  if (getpid() == 1) sigaddset(&signals, SIGCHLD);  // Every orphan is ours: see Runner.
  sigset_t blocked = signals;
  sigaddset(&blocked, SIGTTOU);
  sigaddset(&blocked, SIGTTIN);
  pthread_sigmask(SIG_BLOCK, &blocked, &command.mask);
  struct sigaction as_usual{};  // If our parent ignores SIGCHLD, waitpid would find nobody.
  as_usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &as_usual, &command.on_child);
  command.on_file_size = file_size_signal;
  return signals;
}

// All that is known before anything is forked, opened or sent.
struct RunPlan {
  ClaimPlan claim;
  OncePlan once;
  std::vector<std::string> words;
  CommandLocks locks;
  HoldsAbove above;  // for each name, if the command may go under it
  bool isolate = false;
  ServiceNotifier manager;
};

class RunCommand {
 public:
  RunCommand(const Session& session, RunPlan plan)
      : session_(session),
        plan_(std::move(plan.claim)),
        once_(std::move(plan.once)),
        above_(std::move(plan.above)),
        manager_(std::move(plan.manager)) {
    command_.words = std::move(plan.words);
    command_.locks = std::move(plan.locks);
    command_.output_to_stderr = session.json;
    command_.isolate = plan.isolate;
  }

  int run() {
    const sigset_t signals = block_signals(command_);
    const std::vector<pid_t> strangers = children_of_self();
    // Before any thread exists, and before the client, which does not survive fork().
    GuardProcess guard(command_);
    feed_ = std::make_shared<RenewalFeed>(guard.socket(), *plan_.lock.warn_before);
    ClientOptions options;
    options.observer = feed_;
    options.label = plan_.label;
    options.owner = plan_.lock.owner.str();
    Result<Client> client = [&] {
      const ExitOnSignal at_once(session_.json);
      turn_.rest();
      return session_.open(options);
    }();
    if (!client) return session_.fail(client.failure());

    const BootTime asked = BootClock::now();
    if (const std::optional<int> status = turn_.look(*client)) return *status;
    Claimed claimed =
        claim_all(session_, plan_, *client, names_to_take(plan_, above_), asked, manager_);
    if (claimed.signal != 0) return session_.interrupted_by(claimed.signal);
    if (!claimed.leases) return plan_.fail(session_, claimed.leases.failure());
    HeldLocks locks(std::move(*claimed.leases), plan_.names, above_);
    waited_ = BootClock::now() - asked;
    feed_->begin(locks);
    if (const std::optional<int> status = turn_.begin(locks.leases().front())) return *status;
    // A lock that was handed to us may be granted for a short time only, until we show that we are
    // there. If it cannot be renewed now, it can perhaps later; the guard knows the deadline.
    if (locks.valid_until() - BootClock::now() < plan_.lock.ttl / 2) (void)locks.renew();

    Runner runner(guard, locks, *plan_.lock.warn_before, signals, strangers, command_.isolate,
                  [&] { tell_loss(locks.weakest()); });
    tell_held(locks);
    const RunOutcome outcome = runner.run(client->liveness_descriptor());
    manager_.tell("STOPPING=1");
    return conclude(outcome, locks);
  }

 private:
  void tell_held(const HeldLocks& locks) const {
    if (!manager_) return;
    std::string status;
    for (std::size_t i = 0; i < plan_.names.size(); ++i) {
      status += (i == 0 ? "holds '" : ", '") + plan_.names[i].display() + "' (token " +
                std::to_string(locks.tokens()[i]) + ")";
    }
    if (!manager_.tell("READY=1\nSTATUS=" + for_terminal(status))) {
      session_.warn("the service manager does not listen: it cannot know that the lock is held");
    }
  }

  void tell_loss(const Lease& lease) {
    std::string why = feed_->last_failure(lease.name());
    if (why.empty()) {
      why = BootClock::now() < lease.valid_until() - *plan_.lock.warn_before
                ? "somebody took it away (holdfast break?)"
                : "it was not renewed in time (was this process stopped?)";
    }
    loss_ = "lost the lock '" + lease.name().display() + "': " + why + "; ending the command";
    session_.warn(loss_);
    manager_.try_tell("STATUS=" + for_terminal(loss_));
  }

  int conclude(const RunOutcome& outcome, HeldLocks& locks) {
    switch (outcome.how) {
      case RunOutcome::How::ended: return after_end(outcome.status, locks);
      case RunOutcome::How::not_started: return not_started(outcome.error);
      case RunOutcome::How::guard_died:
        loss_ =
            "the guard process was killed; the command was ended, for nothing could have "
            "stopped it in time";
        session_.warn(loss_);
        break;
      case RunOutcome::How::lost: break;
    }
    turn_.abandon();
    if (!outcome.all_gone) {
      session_.warn("some process of the command could not be killed (another user's?)");
    }
    // The text was printed when it happened.
    return session_.json ? session_.fail("lost", loss_, kLost) : kLost;
  }

  int not_started(const StartError& why) {
    int status = kMisconfigured;
    if (why.of_isolation) {
      session_.fail("misconfigured",
                    std::string("--isolate is not possible here: ") + std::strerror(why.error) +
                        "; it needs root, or user namespaces for everybody "
                        "(sysctl user.max_user_namespaces) and a /proc that may be mounted",
                    kMisconfigured);
    } else {
      status = fail_to_run(session_, command_.words[0], why.error);
    }
    turn_.end(status);
    return status;
  }

  int after_end(int status, HeldLocks& locks) {
    const BootTime ended = BootClock::now();
    const BootTime term_at = locks.valid_until() - *plan_.lock.warn_before;
    int code = WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
    const int told = turn_.end(code);
    const Result<void> released = locks.release();
    // Not ours although its time was not over: it was taken from us, nobody knows when, and what
    // the command did may have been done without the lock.
    if (!released && released.code() == Code::not_held && ended < term_at) {
      return session_.fail("lost",
                           released.message() +
                               " (holdfast break?), before the command ended with status " +
                               std::to_string(code),
                           kLost);
    }
    if (!released && released.code() != Code::not_held) {
      session_.warn("could not release the lock, it frees itself within " +
                    format_duration(plan_.lock.ttl) + ": " + released.message());
    }
    code = told;
    if (session_.json) report(locks.tokens(), status, code);
    return code;
  }

  void report(const std::vector<std::uint64_t>& tokens, int status, int code) const {
    Json locks = Json::array();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      put_name(locks.emplace_back(), plan_.names[i]);
      locks[i]["token"] = tokens[i];
    }
    Json object;
    if (tokens.size() == 1) object = locks[0];
    object["locks"] = std::move(locks);
    object["status"] = code;
    if (WIFSIGNALED(status)) object["signal"] = WTERMSIG(status);
    object["waited_ms"] = to_ms(waited_);
    turn_.add_to(object);
    session_.print(object);
  }

  const Session& session_;
  ClaimPlan plan_;
  OncePlan once_;
  OnceTurn turn_{session_, once_, plan_};
  HoldsAbove above_;
  ServiceNotifier manager_;
  Command command_;
  std::shared_ptr<RenewalFeed> feed_;
  Duration waited_{};
  std::string loss_;
};

Failure once_below_itself(const ClaimPlan& plan) {
  return Failure(Code::invalid_argument, "'" + plan.names.front().display() +
                                             "' is held by a run above this one: --once-per needs "
                                             "the lock for itself");
}

struct RunOptions {
  ClaimOptions claim;
  OnceWords once;
  bool isolate = false;
  bool reenter = false;
  bool notify = false;
  std::optional<std::string> shell_command;
};

int run(Invocation& invocation, const RunOptions& options) {
  Session& session = invocation.session;
  Result<std::vector<std::string>> words =
      command_words(invocation.command, options.shell_command, options.claim.names);
  if (!words) return session.fail(words.failure());
  Result<ClaimPlan> plan = ClaimPlan::from(options.claim, *words);
  if (!plan) return session.fail(plan.failure());
  Result<OncePlan> once = OncePlan::from(options.once, *plan);
  if (!once) return session.fail(once.failure());
  const Result<std::string> url = session.url();
  if (!url) return session.fail(url.failure());
  // Another permit of a semaphore may be had.
  HoldsAbove above(plan->names.size());
  if (plan->mode != Mode::permit) above = held_above(session, *url, plan->names);
  if (const auto problem = problem_with_nesting(*plan, above, options.reenter)) {
    return session.fail(Failure(Code::invalid_argument, *problem));
  }
  CommandLocks locks = command_locks(*plan, *url, above);
  if (names_to_take(*plan, above).empty()) {
    if (once->period) return session.fail(once_below_itself(*plan));
    if (options.notify) ServiceNotifier::from_environment().tell("READY=1");
    return run_under_held(session, locks, above, std::move(*words));
  }
  if (!options.isolate) {
    if (const std::optional<std::string> problem = problem_with_proc()) {
      return session.fail(Failure(Code::misconfigured, *problem));
    }
  }
  session.otlp = options.claim.otlp;
  if (Result<void> traced = session.begin_trace("holdfast run"); !traced)
    return session.fail(traced.failure());
  // The renewing thread needs no heap of its own: to map one takes longer than to share.
  mallopt(M_ARENA_MAX, 1);
  RunPlan all{.claim = std::move(*plan),
              .once = std::move(*once),
              .words = std::move(*words),
              .locks = std::move(locks),
              .above = std::move(above),
              .isolate = options.isolate,
              .manager = options.notify ? ServiceNotifier::from_environment() : ServiceNotifier()};
  return RunCommand(session, std::move(all)).run();
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("run", "Run a command under locks: run NAME... [OPTIONS] -- CMD ...");
  auto options = std::make_shared<RunOptions>();
  options->claim.add_to(*command);
  options->once.add_to(*command);
  command->add_flag("--isolate", options->isolate,
                    "Run CMD in a pid namespace of its own, which the kernel ends as one");
  command->add_flag("--reenter", options->reenter,
                    "If a run above this one holds the lock already: run CMD under it");
  command->add_flag("--notify", options->notify,
                    "Tell the service manager (systemd, Type=notify) when the lock is held");
  command->add_option("-c,--command", options->shell_command, "CMD as one text, for the shell")
      ->type_name("TEXT");
  command->footer(kRunExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return run(invocation, *options); };
  });
}

}  // namespace holdfast::cli
