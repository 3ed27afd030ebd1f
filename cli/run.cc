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
#include "run/guard.h"
#include "run/nesting.h"
#include "run/proc_mount.h"
#include "run/process_tree.h"
#include "run/renewal_feed.h"
#include "run/runner.h"
#include "secrets.h"
#include "wait_notice.h"

namespace holdfast::cli {
namespace {

constexpr const char* kRunExamples = R"(Examples:
  holdfast run nightly-report -- ./report.sh
  holdfast run deploy --no-wait -- make deploy || echo "somebody deploys already"
  holdfast run disk --permits 4 --wait 10m -- rsync -a src/ dst/
  holdfast run migrate --isolate -- ./migrate.sh
  holdfast run cleanup -n -c 'rm -rf /srv/tmp/* && date > /srv/last'
  holdfast run demo -- sh -c 'echo "my fencing token is $HOLDFAST_TOKEN"'

CMD runs in a process group of its own with HOLDFAST_NAME, HOLDFAST_TOKEN, HOLDFAST_MODE and
HOLDFAST_VALID_UNTIL_MS in its environment. If the lock is lost, CMD and all its descendants are
ended (SIGTERM, then SIGKILL) before anybody else can hold it. When CMD ends by itself the lock is
released, even if it left background processes behind. CMD and its descendants also end if two of
the three processes of holdfast (holdfast, holdfast-guard, lock-keeper) are killed at once.

While it waits, it tells on standard error for what: a line that is kept up to date on a terminal, else
one each minute. A run that would wait for itself, because one above it holds the lock, is refused (64).

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
  const sigset_t signals = without_ignored(forwarded_signals());
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

class RunCommand {
 public:
  RunCommand(const Session& session, ClaimPlan plan, std::vector<std::string> words, bool isolate,
             std::string held)
      : session_(session), plan_(std::move(plan)) {
    command_.words = std::move(words);
    command_.held = std::move(held);
    command_.variables = {"HOLDFAST_NAME=" + plan_.name.bytes(),
                          std::string("HOLDFAST_MODE=") + mode_name(plan_.mode)};
    command_.output_to_stderr = session.json;
    command_.isolate = isolate;
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
    Result<Client> client = [&] {
      const ExitOnSignal at_once(session_.json);
      return session_.open(options);
    }();
    if (!client) return session_.fail(client.failure());

    const BootTime asked = BootClock::now();
    Result<Lease> lease = acquire(*client, asked);
    if (interrupted_by_ != 0) return session_.interrupted_by(interrupted_by_);
    if (!lease) return plan_.fail(session_, lease.failure());
    waited_ = BootClock::now() - asked;
    // A lock that was handed to us may be granted for a short time only, until we show that we are
    // there. If it cannot be renewed now, it can perhaps later; the guard knows the deadline.
    if (lease->valid_until() - BootClock::now() < plan_.lock.ttl / 2) (void)lease->renew();

    Runner runner(guard, *lease, *plan_.lock.warn_before, signals, strangers, command_.isolate,
                  [&] { tell_loss(*lease); });
    const RunOutcome outcome = runner.run(client->liveness_descriptor());
    return conclude(outcome, *lease);
  }

 private:
  Result<Lease> acquire(Client& client, BootTime asked) {
    LockRequest request = plan_.request(client);
    Result<Lease> first = try_once(client, request);
    if (interrupted_by_ != 0 || first || !worth_waiting(first.code()) ||
        plan_.patience == Duration::zero()) {
      return first;
    }
    Interrupt interrupt(give_up_);
    std::optional<WaitNotice> notice;
    if (!plan_.quiet) notice.emplace(session_, std::vector{plan_.name}, plan_.label);
    Result<Lease> lease =
        plan_.patience ? request.try_acquire_until(asked + *plan_.patience, interrupt.token())
                       : request.acquire(interrupt.token());
    interrupted_by_ = interrupt.end();
    return lease;
  }

  // Down is not no: a server that is away, or did not answer in time, may come back.
  static bool worth_waiting(Code code) {
    return code == Code::busy || code == Code::unreachable || code == Code::unknown;
  }

  // Most often it is free. If a lock ends with its process, then so may we at any time, and there
  // is no thread to be started that could withdraw the claim.
  Result<Lease> try_once(const Client& client, LockRequest& request) {
    if (client.liveness_descriptor() >= 0) {
      const ExitOnSignal at_once(session_.json);
      return request.try_acquire();
    }
    Interrupt interrupt(give_up_);
    Result<Lease> lease = request.try_acquire();
    interrupted_by_ = interrupt.end();
    return lease;
  }

  void tell_loss(const Lease& lease) {
    std::string why = feed_->last_failure();
    if (why.empty()) {
      why = BootClock::now() < lease.valid_until() - *plan_.lock.warn_before
                ? "somebody took it away (holdfast break?)"
                : "it was not renewed in time (was this process stopped?)";
    }
    loss_ = "lost the lock '" + plan_.name.display() + "': " + why + "; ending the command";
    session_.warn(loss_);
  }

  int conclude(const RunOutcome& outcome, Lease& lease) {
    switch (outcome.how) {
      case RunOutcome::How::ended: return after_end(outcome.status, lease);
      case RunOutcome::How::not_started: return not_started(outcome.error);
      case RunOutcome::How::guard_died:
        loss_ =
            "the guard process was killed; the command was ended, for nothing could have "
            "stopped it in time";
        session_.warn(loss_);
        break;
      case RunOutcome::How::lost: break;
    }
    if (!outcome.all_gone) {
      session_.warn("some process of the command could not be killed (another user's?)");
    }
    // The text was printed when it happened.
    return session_.json ? session_.fail("lost", loss_, kLost) : kLost;
  }

  int not_started(const StartError& why) const {
    const std::string reason = std::strerror(why.error);
    if (why.of_isolation) {
      return session_.fail("misconfigured",
                           "--isolate is not possible here: " + reason +
                               "; it needs root, or user namespaces for everybody "
                               "(sysctl user.max_user_namespaces) and a /proc that may be mounted",
                           kMisconfigured);
    }
    const bool missing = why.error == ENOENT;
    return session_.fail(missing ? "command_not_found" : "command_not_executable",
                         "cannot run '" + command_.words[0] + "': " + reason,
                         missing ? kNotFound : kCannotExecute);
  }

  int after_end(int status, Lease& lease) {
    const BootTime ended = BootClock::now();
    const BootTime term_at = lease.valid_until() - *plan_.lock.warn_before;
    const Token token = lease.token();
    const Result<void> released = lease.release();
    const int code = WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
    // Not ours although its time was not over: it was taken from us, nobody knows when, and what
    // the command did may have been done without the lock.
    if (!released && released.code() == Code::not_held && ended < term_at) {
      return session_.fail("lost",
                           "the lock '" + plan_.name.display() +
                               "' was taken away (holdfast break?) before the command ended with "
                               "status " +
                               std::to_string(code),
                           kLost);
    }
    if (!released && released.code() != Code::not_held) {
      session_.warn("could not release the lock, it frees itself within " +
                    format_duration(plan_.lock.ttl) + ": " + released.message());
    }
    if (session_.json) report(token, status, code);
    return code;
  }

  void report(Token token, int status, int code) const {
    Json object;
    put_name(object, plan_.name);
    object["token"] = token.value();
    object["status"] = code;
    if (WIFSIGNALED(status)) object["signal"] = WTERMSIG(status);
    object["waited_ms"] = to_ms(waited_);
    session_.print(object);
  }

  const Session& session_;
  ClaimPlan plan_;
  Command command_;
  std::shared_ptr<RenewalFeed> feed_;
  const std::function<void(int)> give_up_ = [this](int signal) { session_.give_up_on(signal); };
  int interrupted_by_ = 0;
  Duration waited_{};
  std::string loss_;
};

// Runs the command under the lock that a run above us holds.
int exec_command(const Session& session, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int why = errno;
  return session.fail(why == ENOENT ? "command_not_found" : "command_not_executable",
                      "cannot run '" + words[0] + "': " + std::strerror(why),
                      why == ENOENT ? kNotFound : kCannotExecute);
}

struct RunOptions {
  ClaimOptions claim;
  bool isolate = false;
  bool reenter = false;
  std::optional<std::string> shell_command;
  std::vector<std::string> misplaced;
};

int run(const Invocation& invocation, const RunOptions& options) {
  const Session& session = invocation.session;
  if (!options.misplaced.empty()) {
    return session.fail(
        Failure(Code::invalid_argument,
                "put -- before the command: holdfast run NAME -- " + redact(options.misplaced[0])));
  }
  std::vector<std::string> words = invocation.command;
  if (options.shell_command) {
    if (!words.empty()) {
      return session.fail(
          Failure(Code::invalid_argument, "give a command either by -c or after --, not both"));
    }
    words = {"sh", "-c", *options.shell_command};
  }
  if (words.empty()) {
    return session.fail(
        Failure(Code::invalid_argument, "no command given: holdfast run NAME -- CMD…"));
  }
  Result<ClaimPlan> plan = ClaimPlan::from(options.claim, words);
  if (!plan) return session.fail(plan.failure());
  const Result<std::string> url = session.url();
  if (!url) return session.fail(url.failure());
  // Another permit of a semaphore may be had.
  if (plan->mode != Mode::permit && is_held_above(session, *url, plan->name)) {
    if (options.reenter) return exec_command(session, std::move(words));
    return session.fail(Failure(
        Code::invalid_argument,
        "'" + plan->name.display() +
            "' is held by a `holdfast run` above this one, which would wait for itself; --reenter "
            "runs the command under the lock that is held already"));
  }
  if (!options.isolate) {
    if (const std::optional<std::string> problem = problem_with_proc()) {
      return session.fail(Failure(Code::misconfigured, *problem));
    }
  }
  // The renewing thread needs no heap of its own: to map one takes longer than to share.
  mallopt(M_ARENA_MAX, 1);
  return RunCommand(session, *plan, std::move(words), options.isolate, held_above(*url, plan->name))
      .run();
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("run", "Run a command under a lock: run NAME [OPTIONS] -- CMD ...");
  auto options = std::make_shared<RunOptions>();
  options->claim.add_to(*command);
  command->add_flag("--isolate", options->isolate,
                    "Run CMD in a pid namespace of its own, which the kernel ends as one");
  command->add_flag("--reenter", options->reenter,
                    "If a run above this one holds the lock already: run CMD under it");
  command->add_option("-c,--command", options->shell_command, "CMD as one text, for the shell")
      ->type_name("TEXT");
  // The words after "--" never get here; this is for the help, and to notice a missing "--".
  command->add_option("CMD", options->misplaced, "After --: the command to run, and its arguments")
      ->type_name("");
  command->footer(kRunExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return run(invocation, *options); };
  });
}

}  // namespace holdfast::cli
