#include "lab/sim/quorum_program.h"

#include "lab/sim/quorum_stage.h"

namespace holdfast::lab::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// The shipped engine, and who listens to what it grants: also what the locker finds too old.
class WatchedEngine final : public Engine {
 public:
  WatchedEngine(Runtime& runtime, std::unique_ptr<Engine> engine, QuorumChecker& checker,
                bool counter_tokens)
      : Engine(runtime),
        engine_(std::move(engine)),
        checker_(checker),
        counter_tokens_(counter_tokens) {}

  const Guarantees& guarantees() const override { return engine_->guarantees(); }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override {
    Result<Grant> grant = co_await engine_->acquire(claim, wait);
    if (grant && counter_tokens_) grant->token = Token(checker_.highest_fence_of(claim.id));
    if (grant) {
      checker_.on_granted(claim, grant->token);
    } else if (grant.code() != Code::unknown) {
      checker_.on_ended(claim.id);
    }
    co_return grant;
  }
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override {
    return engine_->renew(holds, deadline);
  }
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override {
    checker_.on_ended(claim.id);
    return engine_->release(claim, deadline);
  }
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override {
    return engine_->detach(hold, deadline);
  }
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override {
    return engine_->list(prefix, deadline);
  }
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override {
    return engine_->inspect(name, deadline);
  }
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override {
    return engine_->evict(name, token, deadline);
  }
  Task<void> close() override { return engine_->close(); }

 private:
  std::unique_ptr<Engine> engine_;
  QuorumChecker& checker_;
  bool counter_tokens_;  // The mistake to take the highest of the nodes' own counters.
};

}  // namespace

QuorumProgram::QuorumProgram(QuorumStage& stage, std::size_t number)
    : stage_(stage), number_(number), node_(stage.world) {}

void QuorumProgram::start() {
  const internal::quorum::QuorumOptions quorum{.node_timeout = QuorumStage::kNodeTimeout,
                                               .request_timeout = stage_.request_timeout,
                                               .collect_all = stage_.happens(0.2)};
  auto electorate =
      std::make_unique<SimElectorate>(node_, stage_.nodes, stage_.network, stage_.marks.voters,
                                      stage_.checker, quorum, stage_.silence);
  electorate_ = electorate.get();
  auto engine = internal::quorum::make_quorum_engine(node_, std::move(electorate), quorum);
  auto watched = std::make_unique<WatchedEngine>(node_, std::move(engine), stage_.checker,
                                                 stage_.model.rules.counter_tokens);
  ClientOptions options{.label = "client"};
  options.observer = std::shared_ptr<Observer>(std::shared_ptr<Observer>(), this);
  client_ = std::make_unique<SimClient>(node_, std::move(watched), std::move(options),
                                        [this](bool connected) { set_cut(!connected); });
  client_->spawn(run());
}

void QuorumProgram::crash() {
  // Half of them as a process, whose connections end, the others as a machine.
  if (stage_.happens(0.5)) client_->crash();
  lease_.reset();
  client_.reset();
  stage_.network.drop_for(node_);
}

const Claim* QuorumProgram::believes() {
  return !node_.paused() && lease_ && lease_->held() ? &claim_ : nullptr;
}

// (As `for (;;)` with `if (!co_await …) continue` and a `break`, GCC 12 -O2 left the frame of this
// coroutine uninitialised.)
Task<void> QuorumProgram::run() {
  while (!finished_) {
    co_await sleep_until(node_, node_.now() + stage_.up_to(milliseconds(300)));
    settled_ = stage_.settled();
    const bool acquired = co_await acquire();
    if (!acquired) continue;
    co_await critical_section();
    co_await give_back();
    finished_ = settled_;
  }
}

Task<bool> QuorumProgram::acquire() {
  const bool patient = stage_.healed();
  Claim claim{.name = "lock", .ttl = QuorumStage::kTtl};
  if (stage_.sharing && stage_.happens(0.5)) claim.mode = Mode::shared;
  LockOptions options{.ttl = QuorumStage::kTtl};
  // A long warning hides what is wrong with the end behind it.
  if (stage_.happens(0.6)) options.warn_before = milliseconds(1);
  // A renewal hides what is wrong with the grant before it.
  options.auto_renew = stage_.happens(0.7);
  cancel_ = std::stop_source();
  Wait wait{.deadline = Deadline::at(node_.now() + stage_.up_to(seconds(4))),
            .queue = stage_.happens(0.8),
            .stop = cancel_.get_token()};
  if (patient) {
    wait.deadline = Deadline::at(node_.now() + QuorumStage::kPatience);
    wait.queue = true;
  } else if (stage_.happens(0.1)) {
    stage_.cancel_soon(cancel_);
  }
  Result<Lease> lease = co_await client_->locker().acquire(claim, options, wait);
  if (!lease && settled_) {
    stage_.find(Finding::no_progress,
                "client " + std::to_string(number_) +
                    " did not get the lock though all was well: " + lease.message());
  }
  if (!lease) co_return false;
  saw_loss_ = false;
  lease_.emplace(std::move(lease).value());
  co_return true;
}

Task<void> QuorumProgram::critical_section() {
  const Ticket ticket = *lease_;
  Registers& registers = stage_.checker.registers;
  std::optional<Registers::Read> seen;  // by a reader, under this lease
  const Duration longest = settled_ ? milliseconds(200) : 2 * QuorumStage::kTtl;
  const BootTime end = node_.now() + stage_.up_to(longest);
  while (node_.now() < end) {
    const bool held = look();
    if (held && ticket.mode == Mode::shared) {
      seen = seen ? registers.read_again(ticket, *seen) : registers.read(ticket);
    } else if (held) {
      const Registers::Read read = registers.read(ticket);
      // As long as this is under way anything may happen, and nobody looks again.
      co_await sleep_until(node_, node_.now() + stage_.up_to(milliseconds(100)));
      registers.write(ticket, read);
    }
    co_await sleep_until(node_, node_.now() + stage_.up_to(milliseconds(100)));
    if (saw_loss_ && stage_.happens(0.3)) break;
  }
  static_cast<void>(look());
}

Task<void> QuorumProgram::give_back() {
  Lease lease = std::move(*lease_);
  lease_.reset();
  const ClaimId id = claim_.id;
  const Result<void> released = co_await lease.async_release();
  if (!settled_) co_return;
  if (!released)
    stage_.find(Finding::no_progress,
                "a release failed though all was well: " + released.message());
  co_await sleep_until(node_, node_.now() + milliseconds(100));
  if (stage_.checker.words_of(id) != 0) {
    stage_.find(Finding::stranded,
                "a word is left behind by a claim that was released though all was well");
  }
  for (const auto& node : stage_.nodes) {
    if (node->in_line(id))
      stage_.find(Finding::stranded, "a claim that was released still stands in line");
  }
}

bool QuorumProgram::look() {
  const bool held = lease_->held();
  if (held && saw_loss_) stage_.find(Finding::broken_lease, "a lost lease came back");
  if (held && node_.now() >= lease_->valid_until())
    stage_.find(Finding::broken_lease, "held() after valid_until");
  if (!held) saw_loss_ = true;
  return held;
}

// ---- Events ------------------------------------------------------------------------------------

void QuorumProgram::on_granted(const Hold& hold, BootTime) {
  ++stage_.marks.leases;
  if (hold.claim.mode == Mode::shared) ++stage_.marks.shared_leases;
  claim_ = hold.claim;
  stage_.note("then client " + std::to_string(number_) + " has a lease with token " +
              hold.token.str() + (hold.claim.mode == Mode::shared ? ", shared" : "") + ", claim " +
              hold.claim.id.hex().substr(0, 6));
}

void QuorumProgram::on_refused(const Claim& claim, const Failure& failure) {
  stage_.note("then client " + std::to_string(number_) + " is refused, claim " +
              claim.id.hex().substr(0, 6) + ": " + failure.message());
  if (failure.code() == Code::unknown) ++stage_.marks.unknowns;
  if (failure.code() == Code::busy) ++stage_.marks.busy;
  if (failure.code() == Code::cancelled) ++stage_.marks.cancelled;
}

void QuorumProgram::on_renewed(const Hold&, BootTime) { ++stage_.marks.renewals; }

void QuorumProgram::on_renewal_failed(const Hold& hold, const Failure& failure) {
  ++stage_.marks.failed_renewals;
  stage_.note("and a renewal of token " + hold.token.str() + " fails: " + failure.message());
}

void QuorumProgram::on_lost(const Hold& hold, BootTime valid_until) {
  ++stage_.marks.losses;
  stage_.note("then client " + std::to_string(number_) + " loses token " + hold.token.str());
  if (!node_.just_resumed() && node_.now() >= valid_until) {
    stage_.find(Finding::broken_lease,
                "lost() came when the lock could already be somebody else's");
  }
}

}  // namespace holdfast::lab::sim
