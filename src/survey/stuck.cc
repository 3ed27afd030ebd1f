#include "survey/stuck.h"

#include <array>

namespace holdfast::internal {

namespace {

// One line while its owners end, one after the other. All its positions only ever advance, so that a long queue costs
// no more than its length.
class LineProgress {
 public:
  LineProgress(const Line& line, Reading reading) : line_(line), gone_(line.entries.size()) {
    for (std::uint32_t i = 0; i < size(); ++i) {
      const Entry& entry = line.entries[i];
      if (counts(entry.role, reading)) waits_[number_of(entry.mode)].push_back(i);
    }
  }

  void leave(std::uint32_t position) {
    if (gone_[position]) return;
    gone_[position] = true;
    if (line_.entries[position].mode == Mode::permit && position < counted_) --taken_;
  }

  // Calls `granted` with each owner of a wait that is granted by now and was not before.
  template <class Granted>
  void grant(Granted granted) {
    advance();
    for (std::size_t mode = 0; mode < kModes; ++mode) {
      std::uint32_t& next = next_[mode];
      for (; next < waits_[mode].size() && is_free(mode, waits_[mode][next]); ++next) {
        granted(line_.entries[waits_[mode][next]].owner);
      }
    }
  }

 private:
  std::uint32_t size() const { return static_cast<std::uint32_t>(line_.entries.size()); }

  void advance() {
    for (std::size_t mode = 0; mode < kModes; ++mode) {
      std::uint32_t& first = first_[mode];
      while (first < size() && (gone_[first] || number_of(line_.entries[first].mode) != mode)) {
        ++first;
      }
    }
    for (; taken_ < line_.permits && counted_ < size(); ++counted_) {
      if (!gone_[counted_] && line_.entries[counted_].mode == Mode::permit) ++taken_;
    }
  }

  bool is_free(std::size_t mode, std::uint32_t position) const {
    const std::uint32_t limit = line_.limit(position);
    for (std::size_t other = 0; other < kModes; ++other) {
      const bool conflict = conflicts(static_cast<Mode>(mode), static_cast<Mode>(other));
      if (conflict && first_[other] < limit) return false;
    }
    // The last permit is taken by the entry before counted_.
    const bool a_permit_is_free = taken_ < line_.permits || counted_ > limit;
    return static_cast<Mode>(mode) != Mode::permit || a_permit_is_free;
  }

  const Line& line_;
  std::vector<bool> gone_;
  std::array<std::uint32_t, kModes> first_{};  // the first entry of a mode that is not gone
  std::array<std::vector<std::uint32_t>, kModes> waits_;  // their positions
  std::array<std::uint32_t, kModes> next_{};              // the first of waits_ that is not granted
  std::uint32_t taken_ = 0;  // permits, by the first `counted_` entries
  std::uint32_t counted_ = 0;
};

class Fixpoint {
 public:
  Fixpoint(const Lines& all, Reading reading, const std::vector<bool>& left_out)
      : all_(all), entries_(all.owners.size()), pending_(all.owners.size()) {
    lines_.reserve(all.lines.size());
    for (std::uint32_t i = 0; i < all.lines.size(); ++i) add(i, reading, left_out);
  }

  std::vector<bool> run() {
    for (LineProgress& line : lines_) grant(line);
    std::vector<bool> stuck(pending_.size());
    for (std::uint32_t owner = 0; owner < pending_.size(); ++owner) {
      if (pending_[owner] == 0) free_.push_back(owner);
      stuck[owner] = pending_[owner] != 0;
    }
    freeing_ = true;
    while (!free_.empty()) {
      const std::uint32_t owner = free_.back();
      free_.pop_back();
      stuck[owner] = false;
      end(owner);
    }
    return stuck;
  }

 private:
  struct At {
    std::uint32_t line;
    std::uint32_t position;
  };

  void add(std::uint32_t index, Reading reading, const std::vector<bool>& left_out) {
    const Line& line = all_.lines[index];
    LineProgress& progress = lines_.emplace_back(line, reading);
    for (std::uint32_t i = 0; i < line.entries.size(); ++i) {
      const Entry& entry = line.entries[i];
      entries_[entry.owner].push_back({index, i});
      if (left_out[entry.owner]) {
        progress.leave(i);
        continue;
      }
      const bool for_ever = entry.role == Role::self && reading == Reading::possible;
      if (counts(entry.role, reading) || for_ever) ++pending_[entry.owner];
    }
  }

  void grant(LineProgress& line) {
    line.grant([&](std::uint32_t owner) {
      // Those that are left out have nothing pending.
      if (pending_[owner] > 0 && --pending_[owner] == 0 && freeing_) free_.push_back(owner);
    });
  }

  // It gives back what it holds, and waits no more.
  void end(std::uint32_t owner) {
    for (const At& at : entries_[owner]) {
      lines_[at.line].leave(at.position);
      grant(lines_[at.line]);
    }
  }

  const Lines& all_;
  std::vector<LineProgress> lines_;
  std::vector<std::vector<At>> entries_;  // by owner
  std::vector<std::uint32_t> pending_;    // by owner: waits that are not granted
  std::vector<std::uint32_t> free_;       // can go on, and have not ended yet
  bool freeing_ = false;
};

}  // namespace

std::vector<bool> stuck_owners(const Lines& all, Reading reading,
                               const std::vector<bool>& left_out) {
  return Fixpoint(all, reading, left_out).run();
}

}  // namespace holdfast::internal
