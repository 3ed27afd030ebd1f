// History: what observers saw of one run, in one format for every experiment: a JSON object per
// line. All times are on CLOCK_BOOTTIME, which all processes of a machine share.
//
//   {"at":81230112345,"who":"A","event":"granted","token":33}
//   {"at":81230198211,"who":"A","event":"read","resource":"ABAB/full/register","token":33,"value":0}
//   {"at":81230200011,"who":"server","event":"fault","text":"node 1: clock +60 s"}
//
// An event of a shared holder has "mode":"shared". A resource is named SHEET/FENCE/KIND (see ResourceId). Its events are stamped while nobody else
// is at the resource, so their order is the order in which it served.
//
// Thread safety: values. A HistoryFile may be written by any number of processes at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/time.h"

namespace holdfast::lab {

enum class EventKind {
  asked,      // a client begins to ask for the lock
  granted,    // it has it, with this token
  refused,    // it was told no, or nothing: `text` is the code
  believed,   // it was asked whether it still holds the lock, and said yes
  doubted,    // it was asked, and said no
  renewed,    // a renewal succeeded
  lost,       // its lost() was triggered
  releasing,  // it begins to give the lock back: it believes no more
  released,   // it was told that the lock is given back
  read,       // a resource let it read `value`
  sent,       // a write left the client; it may arrive much later
  wrote,      // a resource accepted its write of `value`
  barred,     // a resource refused a read or write because of the token; `text` says which
  unclear,    // a read or write whose outcome nobody knows
  paused,     // it stops itself at the point `text`
  resumed,
  died,      // killed
  fault,     // something was done to a server or a link; `text` says what
  heal,      // and undone
  probed,    // after the heal: a newcomer got the lock; value: after so many milliseconds
  stranded,  // after the heal: it did not get it in time
};

const char* event_name(EventKind kind);
std::optional<EventKind> event_kind(std::string_view name);

struct Event {
  BootTime at;
  std::string who;  // a client's name, or "server"
  EventKind kind{};
  std::string resource;  // empty: the lock itself
  std::uint64_t token = 0;
  std::int64_t value = 0;
  std::string text;
  bool shared = false;  // the lock is asked for, held or shown as a reader's

  bool operator==(const Event&) const = default;
};

// How a resource checks tokens.
enum class Fence { none, writes_only, full };
inline constexpr Fence kFences[] = {Fence::none, Fence::writes_only, Fence::full};
const char* fence_name(Fence fence);  // "none", "writes", "full"

// Which of the many resources of a run: a sheet is used for one order of steps only.
struct ResourceId {
  std::string sheet;
  Fence fence = Fence::none;
  bool log = false;  // an append-only file; false: a register

  std::string text() const;  // "ABAB/full/register"
  static std::optional<ResourceId> parse(std::string_view text);
};

std::string to_line(const Event& event);  // without the newline
// Nothing if the line is not an event.
std::optional<Event> parse_event(std::string_view line);

// In the order of time.
using History = std::vector<Event>;

// Appends events to a file; each is one write(), so several processes may share the file and what
// a killed process wrote is there.
class HistoryFile {
 public:
  // Throws std::system_error if it cannot be opened.
  explicit HistoryFile(const std::filesystem::path& path);
  ~HistoryFile();
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  // Stamps the event with the present time unless it has one. Throws std::system_error.
  void add(Event event);

 private:
  int descriptor_;
};

// Sorted by time. A last line that is cut off (its writer was killed) is left out.
History read_history(const std::filesystem::path& path);

}  // namespace holdfast::lab
