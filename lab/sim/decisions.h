// Decisions: which faults happen in one schedule, and when. They are drawn from a stream of their
// own, apart from the one that orders the rest of the world, and they are numbered: so one of them
// can be left out, or made shorter, and the others stay what they were. That is how a schedule is
// shrunk.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/random.h"
#include "holdfast/time.h"
#include "lab/sim/fault.h"

namespace holdfast::lab::sim {

// Which decisions are carried out; all of them unless said otherwise.
//   "0,3/4"   the first and the fourth, and that one takes a quarter of its time
//   "none"    not one
class Selection {
 public:
  static std::optional<Selection> parse(const std::string& text);
  // The first `count` of them.
  static Selection first(std::size_t count);

  std::string text() const;
  bool all() const { return all_; }
  bool keeps(std::size_t number) const { return all_ || kept_.contains(number); }
  unsigned divisor(std::size_t number) const;
  std::size_t size() const { return kept_.size(); }
  std::map<std::size_t, unsigned>& kept() { return kept_; }

 private:
  bool all_ = true;
  std::map<std::size_t, unsigned> kept_;  // number, divisor of its length
};

class Decisions {
 public:
  Decisions(std::uint64_t seed, const Selection& selection)
      : random_(seed ^ kOtherStream), selection_(selection) {}

  // ---- Draws ------------------------------------------------------------------------------------
  std::uint64_t next() { return random_.next(); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool happens(double probability) { return uniform() < probability; }
  Duration up_to(Duration longest) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(longest.count()) * uniform()));
  }
  std::size_t one_of(std::size_t count) { return static_cast<std::size_t>(next() % count); }

  // ---- Decisions --------------------------------------------------------------------------------
  // A fault that is due. False: it is left out. Draw all that it needs before, so that leaving it
  // out changes no later draw.
  bool take(FaultKind kind) {
    const std::size_t number = made_++;
    if (!selection_.keeps(number)) return false;
    last_divisor_ = selection_.divisor(number);
    happened_.add(kind);
    return true;
  }
  // How long the fault lasts that was taken last.
  Duration length(Duration drawn) const { return drawn / last_divisor_; }

  std::size_t made() const { return made_; }
  FaultSet happened() const { return happened_; }

 private:
  static constexpr std::uint64_t kOtherStream = 0x9E3779B97F4A7C15;
  internal::Random random_;
  const Selection& selection_;
  std::size_t made_ = 0;
  unsigned last_divisor_ = 1;
  FaultSet happened_;
};

}  // namespace holdfast::lab::sim
