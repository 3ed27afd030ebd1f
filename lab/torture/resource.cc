#include "lab/torture/resource.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace holdfast::lab {
namespace {

std::string file_name(const ResourceId& id) {
  std::string name = id.text();
  std::ranges::replace(name, '/', '.');
  return name;
}

}  // namespace

// Nobody else is at the resource while it lives, whether there is a fence or not.
class Resource::Turn {
 public:
  explicit Turn(const std::filesystem::path& file)
      : descriptor_(open((file.string() + ".turn").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    int locked = -1;
    do {
      locked = descriptor_ < 0 ? -1 : flock(descriptor_, LOCK_EX);
    } while (locked < 0 && errno == EINTR);
    if (locked < 0) throw std::system_error(errno, std::generic_category(), file.string());
  }
  ~Turn() { close(descriptor_); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int descriptor_;
};

Resource::Resource(const std::filesystem::path& folder, ResourceId id, HistoryFile& history)
    : id_(std::move(id)), file_(folder / file_name(id_)), history_(history) {
  if (id_.fence != Fence::none) gate_ = FenceGate::in_file(file_.string() + ".fence").value();
}

std::optional<std::int64_t> Resource::read(const std::string& who, const Ticket& ticket) {
  const Turn turn(file_);
  if (id_.fence == Fence::full) {
    const Result<FenceGate::Pass> pass = gate_->enter(ticket);
    if (!pass) {
      if (pass.code() != Code::stale_token) pass.value();  // throws: from this no verdict follows
      history_.add({.who = who,
                    .kind = EventKind::barred,
                    .resource = id_.text(),
                    .token = ticket.token.value(),
                    .text = "read",
                    .shared = ticket.mode == Mode::shared});
      return std::nullopt;
    }
  }
  const std::int64_t value = last();
  history_.add({.who = who,
                .kind = EventKind::read,
                .resource = id_.text(),
                .token = ticket.token.value(),
                .value = value,
                .shared = ticket.mode == Mode::shared});
  return value;
}

bool Resource::write(const std::string& who, const Ticket& ticket, std::int64_t value) {
  const Turn turn(file_);
  Event event{.who = who,
              .kind = EventKind::wrote,
              .resource = id_.text(),
              .token = ticket.token.value(),
              .value = value};
  if (id_.fence != Fence::none) {
    const Result<FenceGate::Pass> pass = gate_->enter(ticket);
    if (!pass) {
      if (pass.code() != Code::stale_token) pass.value();
      event.kind = EventKind::barred;
      event.text = "write";
      history_.add(event);
      return false;
    }
  }
  put(value);
  history_.add(event);
  return true;
}

std::int64_t Resource::last() const {
  std::ifstream file(file_);
  std::int64_t result = 0;
  for (std::string word; file >> word;) result = std::stoll(word);
  return result;
}

void Resource::put(std::int64_t value) const {
  std::ofstream file(file_, id_.log ? std::ios::app : std::ios::trunc);
  file << value << "\n";
  file.flush();
  if (!file) throw std::system_error(errno, std::generic_category(), file_.string());
}

}  // namespace holdfast::lab
