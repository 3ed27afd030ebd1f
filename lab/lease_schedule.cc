#include "lab/lease_schedule.h"

#include <memory>
#include <optional>
#include <sstream>

#include "lab/sim_client.h"
#include "lab/sim_engine.h"

namespace holdfast::lab {

namespace {

using internal::SimRuntime;
using internal::SimWorld;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTtl = seconds(1);
constexpr std::size_t kClients = 3;
constexpr Duration kFaultPhase = seconds(12);
constexpr Duration kHealedPhase = seconds(30);

class Schedule;

// One client program: acquire, work, release, again and again; records what it believes.
class Program final : public Observer {
 public:
  Program(Schedule& schedule, std::size_t number);

  ~Program() override {
    if (client_) crash();
  }

  void start();
  void crash();
  void set_connected(bool connected) { client_->set_connected(connected); }
  SimRuntime& node() { return node_; }
  std::size_t number() const { return number_; }
  // What an awake program believes at this moment.
  bool believes() { return !node_.paused() && lease_ && lease_->held(); }
  bool has_lease() const { return lease_.has_value(); }
  bool finished() const { return finished_; }

  void on_granted(const Hold& hold, BootTime valid_until) override;
  void on_refused(const Claim& claim, const Failure& failure) override;
  void on_renewed(const Hold& hold, BootTime valid_until) override;
  void on_renewal_failed(const Hold& hold, const Failure& failure) override;
  void on_lost(const Hold& hold, BootTime valid_until) override;

 private:
  Task<void> run();
  Task<void> critical_section();
  Task<bool> acquire();
  bool look();  // held(), checked against everything that was seen before

  Schedule& schedule_;
  std::size_t number_;
  SimRuntime node_;
  std::unique_ptr<SimClient> client_;
  std::stop_source cancel_;
  std::optional<Lease> lease_;
  bool saw_loss_ = false;
  bool finished_ = false;
};

class Schedule {
 public:
  Schedule(std::uint64_t seed, LeaseMarks& the_marks, bool keep_history)
      : marks(the_marks),
        world(seed),
        network(world, the_marks.network),
        store_node(world),
        store(store_node),
        chaos_node(world),
        chaos(chaos_node),
        keep_history_(keep_history) {
    verdict_.seed = seed;
    for (std::size_t i = 0; i < kClients; ++i) {
      programs.push_back(std::make_unique<Program>(*this, i));
    }
  }

  LeaseVerdict run() {
    draw_faults();
    for (auto& program : programs) program->start();
    chaos.spawn(inject());
    const BootTime end = world.now() + kFaultPhase + kHealedPhase;
    const bool all_done = world.run(
        [this] {
          if (!verdict_.violations.empty()) return true;
          return healed && std::all_of(programs.begin(), programs.end(),
                                       [](const auto& program) { return program->finished(); });
        },
        end);
    if (!all_done) violate("the schedule did not come to its end: a client did not get the lock");
    return std::move(verdict_);
  }

  // Is there a second client that believes to hold, while `who` does?
  void check_exclusion(const Program& who) {
    for (auto& other : programs) {
      if (other.get() != &who && other->believes()) violate("two clients believe to hold the lock");
    }
  }
  void see_grant(Token token) {
    if (token <= last_token) violate("a grant's token is not higher than the one before");
    if (last_token.value() != 0) ++marks.hand_overs;
    last_token = token;
  }
  void violate(const std::string& what) {
    note("VIOLATION: " + what);
    verdict_.violations.push_back(what);
  }
  void note(const std::string& what) {
    if (!keep_history_) return;
    std::ostringstream line;
    line << std::chrono::duration<double>(world.now().time_since_epoch()).count() << " " << what;
    verdict_.history.push_back(line.str());
  }
  double uniform() { return static_cast<double>(world.random().next() >> 11) * 0x1.0p-53; }
  bool happens(double probability) { return uniform() < probability; }
  Duration up_to(Duration longest) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(longest.count()) * uniform()));
  }

  LeaseMarks& marks;
  SimWorld world;
  SimNetwork network;
  SimRuntime store_node;
  SimStore store;
  SimRuntime chaos_node;
  TaskGroup chaos;
  std::vector<std::unique_ptr<Program>> programs;
  Token last_token;
  bool healed = false;

 private:
  // A random subset of faults: a schedule with all of them at once seldom gets far.
  void draw_faults() {
    NetworkFaults faults;
    if (happens(0.5)) faults.loss = 0.2 * uniform();
    if (happens(0.5)) faults.duplication = 0.3 * uniform();
    if (happens(0.5)) faults.slow = 0.2 * uniform();
    network.set_faults(faults);
    pausing_ = happens(0.6);
    crashing_ = happens(0.3);
    cutting_ = happens(0.5);
    if (happens(0.6)) {
      // Half a per cent each way: as far apart as 1 % allows for.
      const auto rate = [&] { return happens(0.5) ? 1.0049 : 0.9951; };
      store_node.set_clock_rate(rate());
      for (auto& program : programs) program->node().set_clock_rate(rate());
    }
  }

  Task<void> inject() {
    const BootTime until = chaos_node.now() + kFaultPhase;
    while (chaos_node.now() < until) {
      co_await sleep_until(chaos_node, chaos_node.now() + up_to(milliseconds(800)));
      Program& victim = *programs[world.random().next() % kClients];
      if (pausing_ && happens(0.4)) {
        const Duration span = up_to(3 * kTtl);
        ++marks.pauses;
        if (victim.has_lease() && span > kTtl) ++marks.pauses_while_held;
        note("pause of client " + std::to_string(victim.number()));
        victim.node().pause_for(span);
      }
      if (pausing_ && happens(0.1)) store_node.pause_for(up_to(2 * kTtl));
      if (cutting_ && happens(0.3)) {
        ++marks.cuts;
        note("client " + std::to_string(victim.number()) + " is cut off");
        chaos.spawn(cut_off(victim));
      }
      if (crashing_ && happens(0.1)) {
        ++marks.crashes;
        note("crash of client " + std::to_string(victim.number()));
        victim.crash();
        victim.start();
      }
    }
    network.set_faults(NetworkFaults{});
    healed = true;
    note("healed");
  }

  Task<void> cut_off(Program& victim) {
    victim.set_connected(false);
    co_await sleep_until(chaos_node, chaos_node.now() + up_to(2 * kTtl));
    victim.set_connected(true);
  }

  LeaseVerdict verdict_;
  bool keep_history_;
  bool pausing_ = false;
  bool crashing_ = false;
  bool cutting_ = false;
};

Program::Program(Schedule& schedule, std::size_t number)
    : schedule_(schedule), number_(number), node_(schedule.world) {}

void Program::start() {
  ClientOptions options{.label = "client"};
  options.observer = std::shared_ptr<Observer>(std::shared_ptr<Observer>(), this);
  auto engine = std::make_unique<SimEngine>(node_, schedule_.store_node, schedule_.store,
                                            schedule_.network, milliseconds(300));
  SimEngine& plugged = *engine;
  client_ =
      std::make_unique<SimClient>(node_, std::move(engine), std::move(options),
                                  [&plugged](bool connected) { plugged.set_connected(connected); });
  client_->spawn(run());
}

void Program::crash() {
  client_->crash();
  lease_.reset();
  client_.reset();
  schedule_.network.drop_for(node_);
}

Task<void> Program::run() {
  for (;;) {
    co_await sleep_until(node_, node_.now() + schedule_.up_to(milliseconds(400)));
    const bool last = schedule_.healed;
    if (!co_await acquire()) continue;
    co_await critical_section();
    if (last) break;
  }
  finished_ = true;
}

Task<bool> Program::acquire() {
  internal::Locker& locker = client_->locker();
  Claim claim{.name = "lock", .ttl = kTtl};
  LockOptions options{.ttl = kTtl};
  // A long warning hides what is wrong with the end behind it.
  if (schedule_.happens(0.5)) options.warn_before = milliseconds(1);
  cancel_ = std::stop_source();
  Wait wait{.deadline = Deadline::at(node_.now() + schedule_.up_to(seconds(4))),
            .queue = schedule_.happens(0.8),
            .stop = cancel_.get_token()};
  if (!schedule_.healed && schedule_.happens(0.1)) cancel_.request_stop();
  Result<Lease> lease = co_await locker.acquire(claim, options, wait);
  if (!lease) co_return false;
  saw_loss_ = false;
  lease_.emplace(std::move(lease).value());
  co_return true;
}

Task<void> Program::critical_section() {
  const BootTime end = node_.now() + schedule_.up_to(2 * kTtl);
  for (;;) {
    if (look()) schedule_.check_exclusion(*this);
    if (node_.now() >= end) break;
    co_await sleep_until(node_, node_.now() + schedule_.up_to(milliseconds(150)));
    if (saw_loss_ && schedule_.happens(0.3)) break;
  }
  Lease lease = std::move(*lease_);
  lease_.reset();
  static_cast<void>(co_await lease.async_release());
}

bool Program::look() {
  const bool held = lease_->held();
  if (held && saw_loss_) schedule_.violate("a lost lease came back");
  if (held && node_.now() >= lease_->valid_until()) {
    schedule_.violate("held() after valid_until");
  }
  if (!held) saw_loss_ = true;
  return held;
}

void Program::on_granted(const Hold& hold, BootTime) {
  ++schedule_.marks.grants;
  schedule_.note("client " + std::to_string(number_) + " granted token " + hold.token.str());
  schedule_.see_grant(hold.token);
}

void Program::on_refused(const Claim&, const Failure& failure) {
  schedule_.note("client " + std::to_string(number_) + " refused: " + failure.message());
  if (failure.code() == Code::unknown) ++schedule_.marks.unknowns;
  if (failure.code() == Code::busy) ++schedule_.marks.busy;
  if (failure.code() == Code::cancelled) ++schedule_.marks.cancelled;
}

void Program::on_renewed(const Hold&, BootTime) { ++schedule_.marks.renewals; }

void Program::on_renewal_failed(const Hold&, const Failure&) { ++schedule_.marks.failed_renewals; }

void Program::on_lost(const Hold& hold, BootTime valid_until) {
  ++schedule_.marks.losses;
  schedule_.note("client " + std::to_string(number_) + " lost token " + hold.token.str());
  if (!node_.just_resumed() && node_.now() >= valid_until) {
    schedule_.violate("lost() came when the lock could already be somebody else's");
  }
}

}  // namespace

LeaseVerdict run_lease_schedule(std::uint64_t seed, LeaseMarks& marks, bool keep_history) {
  return Schedule(seed, marks, keep_history).run();
}

}  // namespace holdfast::lab
