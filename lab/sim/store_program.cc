#include "lab/sim/store_program.h"

#include "lab/sim/store_stage.h"

namespace holdfast::lab::sim {

using std::chrono::milliseconds;

StoreProgram::StoreProgram(StoreStage& stage, std::size_t number)
    : stage_(stage), number_(number), node_(stage.world) {}

std::unique_ptr<Engine> StoreProgram::make_engine() {
  constexpr std::uint64_t kSessionsOfOne = 1U << 20;
  const StoreModel& model = stage_.model;
  if (model.recipe != NaiveRecipe::none) {
    auto naive = make_naive_engine(model.recipe, node_, *stage_.server.node, stage_.plain_word,
                                   stage_.network, model.client.request_timeout);
    plug_ = [naive = naive.get()](bool sends, bool hears) { naive->set_connected(sends, hears); };
    return naive;
  }
  const std::uint64_t first_session = ((starts_ << 8) + number_ + 1) * kSessionsOfOne;
  auto engine = std::make_unique<SimEngine>(node_, stage_.server, stage_.network, model.client,
                                            first_session);
  plug_ = [engine = engine.get()](bool sends, bool hears) { engine->set_connected(sends, hears); };
  return engine;
}

void StoreProgram::start() {
  ++starts_;
  ClientOptions options{.label = "client"};
  options.observer = std::shared_ptr<Observer>(std::shared_ptr<Observer>(), this);
  client_ = std::make_unique<SimClient>(node_, make_engine(), std::move(options),
                                        [this](bool connected) { plug_(connected, connected); });
  client_->spawn(run());
}

void StoreProgram::crash() {
  client_->crash();
  lease_.reset();
  client_.reset();
  stage_.network.drop_for(node_);
}

// (As `for (;;)` with `if (!co_await …) continue` and a `break`, GCC 12 -O2 left the frame of such a
// coroutine uninitialised.)
Task<void> StoreProgram::run() {
  while (!finished_) {
    co_await sleep_until(node_, node_.now() + stage_.up_to(2 * stage_.model.ttl / 5));
    const bool last = stage_.healed();
    const bool acquired = co_await acquire();
    if (!acquired) continue;
    co_await critical_section();
    co_await give_back();
    finished_ = last;
  }
}

Task<bool> StoreProgram::acquire() {
  const Duration ttl = stage_.model.ttl;
  Claim claim{.name = "lock", .ttl = ttl};
  LockOptions options{.ttl = ttl};
  // A long warning hides what is wrong with the end behind it.
  if (stage_.happens(0.5)) options.warn_before = milliseconds(1);
  cancel_ = std::stop_source();
  Wait wait{.deadline = Deadline::at(node_.now() + stage_.up_to(4 * ttl)),
            .queue = stage_.happens(0.8),
            .stop = cancel_.get_token()};
  if (!stage_.healed() && stage_.happens(0.1)) cancel_.request_stop();
  Result<Lease> lease = co_await client_->locker().acquire(claim, options, wait);
  if (!lease) co_return false;
  saw_loss_ = false;
  lease_.emplace(std::move(lease).value());
  co_return true;
}

Task<void> StoreProgram::critical_section() {
  const BootTime end = node_.now() + stage_.up_to(2 * stage_.model.ttl);
  const Duration pause = 3 * stage_.model.ttl / 20;
  while (node_.now() < end) {
    if (look()) co_await update();
    co_await sleep_until(node_, node_.now() + stage_.up_to(pause));
    if (saw_loss_ && stage_.happens(0.3)) break;
  }
  static_cast<void>(look());
}

// While this is under way anything may happen, and nobody looks again.
Task<void> StoreProgram::update() {
  const Token token = lease_->token();
  const Registers::Read reads = stage_.registers.read(token);
  co_await sleep_until(node_, node_.now() + stage_.up_to(stage_.model.ttl / 10));
  stage_.registers.write(token, reads);
}

Task<void> StoreProgram::give_back() {
  Lease lease = std::move(*lease_);
  lease_.reset();
  static_cast<void>(co_await lease.async_release());
}

bool StoreProgram::look() {
  const bool held = lease_->held();
  if (held && saw_loss_) stage_.find(Finding::broken_lease, "a lost lease came back");
  if (held && node_.now() >= lease_->valid_until()) {
    stage_.find(Finding::broken_lease, "held() after valid_until");
  }
  if (!held) saw_loss_ = true;
  return held;
}

// ---- Events ------------------------------------------------------------------------------------

void StoreProgram::on_wait(const Claim&) { token_floor_ = stage_.highest_token(); }

void StoreProgram::on_granted(const Hold& hold, BootTime) {
  ++stage_.marks.grants;
  if (stage_.keeps_history()) {
    stage_.note("then " + label() + " holds the lock, token " + hold.token.str());
  }
  stage_.see_grant(hold.token, token_floor_);
}

void StoreProgram::on_refused(const Claim&, const Failure& failure) {
  if (stage_.keeps_history()) stage_.note("and " + label() + " is refused: " + failure.message());
  if (failure.code() == Code::unknown) ++stage_.marks.unknowns;
  if (failure.code() == Code::busy) ++stage_.marks.busy;
  if (failure.code() == Code::cancelled) ++stage_.marks.cancelled;
}

void StoreProgram::on_renewed(const Hold&, BootTime) { ++stage_.marks.renewals; }

void StoreProgram::on_renewal_failed(const Hold&, const Failure&) {
  ++stage_.marks.failed_renewals;
}

void StoreProgram::on_lost(const Hold& hold, BootTime valid_until) {
  ++stage_.marks.losses;
  if (stage_.keeps_history()) {
    stage_.note("then " + label() + " is told that token " + hold.token.str() + " is lost");
  }
  if (!node_.just_resumed() && node_.now() >= valid_until) {
    stage_.find(Finding::broken_lease,
                "lost() came when the lock could already be somebody else's");
  }
}

}  // namespace holdfast::lab::sim
