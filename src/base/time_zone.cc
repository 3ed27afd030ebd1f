#include "base/time_zone.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "holdfast/text.h"

namespace holdfast::internal {

namespace {

using std::chrono::seconds;

constexpr const char* kDatabase = "/usr/share/zoneinfo/";
constexpr std::size_t kMaxFile = 1 << 20;

Failure invalid(std::string message) { return Failure(Code::invalid_argument, std::move(message)); }

// Big-endian numbers, one after the other. Past the end they are zero, and ok() is false.
class Bytes {
 public:
  explicit Bytes(std::string_view left) : left_(left) {}
  bool ok() const { return ok_; }
  std::string_view left() const { return left_; }

  std::string_view take(std::size_t count) {
    if (count > left_.size()) ok_ = false;
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::int64_t number(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    if (!ok_) return 0;
    // The first byte has the sign.
    std::int64_t value = static_cast<signed char>(taken.front());
    for (const char byte : taken.substr(1)) value = value * 256 + static_cast<unsigned char>(byte);
    return value;
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

struct Header {
  char version = 0;
  std::size_t ut = 0, standard = 0, leaps = 0, changes = 0, types = 0, letters = 0;

  static std::optional<Header> read(Bytes& bytes) {
    Header header;
    if (bytes.take(4) != "TZif") return std::nullopt;
    const std::string_view version = bytes.take(1);
    header.version = version.empty() ? '\0' : version.front();
    bytes.take(15);
    for (std::size_t* count : {&header.ut, &header.standard, &header.leaps, &header.changes,
                               &header.types, &header.letters}) {
      const std::int64_t value = bytes.number(4);
      if (value < 0 || value > static_cast<std::int64_t>(kMaxFile)) return std::nullopt;
      *count = static_cast<std::size_t>(value);
    }
    return bytes.ok() ? std::optional(header) : std::nullopt;
  }
  std::size_t size(std::size_t time_bytes) const {
    return changes * (time_bytes + 1) + types * 6 + letters + leaps * (time_bytes + 4) + standard +
           ut;
  }
};

bool is_zone_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && name.front() != '/' &&
         name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [](char byte) {
           return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '/' ||
                  byte == '_' || byte == '-' || byte == '+';
         });
}

std::optional<std::string> contents(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return bytes.size() <= kMaxFile ? std::optional(std::move(bytes)) : std::nullopt;
}

// The system's name for its own zone; "UTC" where nobody ever set it, as the C library takes it.
Result<std::string> system_zone() {
  if (const char* given = std::getenv("TZ")) {
    const std::string_view text = *given == ':' ? given + 1 : given;
    if (text.empty()) return std::string("UTC");
    const std::size_t path = text.find("zoneinfo/");
    return std::string(path == std::string_view::npos ? text : text.substr(path + 9));
  }
  std::error_code error;
  const std::string link = std::filesystem::read_symlink("/etc/localtime", error).string();
  const std::size_t name = link.find("zoneinfo/");
  if (!error && name != std::string::npos) return link.substr(name + 9);
  std::ifstream file("/etc/timezone");
  std::string line;
  if (file && std::getline(file, line) && !line.empty()) return line;
  if (!std::filesystem::exists("/etc/localtime", error)) return std::string("UTC");
  return Failure(Code::misconfigured,
                 "cannot tell the name of this system's time zone (/etc/localtime is no link): "
                 "name one, such as Europe/Berlin");
}

}  // namespace

Result<TimeZone> TimeZone::find(std::string_view wanted) {
  std::string name(wanted);
  const bool of_system = name.empty();
  if (of_system) {
    Result<std::string> own = system_zone();
    if (!own) return own.failure();
    name = *own;
  }
  if (name == "UTC" || name == "Etc/UTC") return TimeZone("UTC");
  if (is_zone_name(name)) {
    if (const std::optional<std::string> file = contents(kDatabase + name)) {
      return read(name, *file);
    }
  }
  if (of_system) {  // TZ may hold the rules themselves.
    if (std::optional<ZoneRules> rules = ZoneRules::parse(name)) {
      TimeZone zone(name);
      zone.rules_ = rules;
      return zone;
    }
  }
  std::error_code ignored;
  const bool installed = std::filesystem::exists(kDatabase, ignored);
  return invalid("there is no time zone '" + printable(name, 80) + "' in " + kDatabase +
                 (installed ? ": write one such as Europe/Berlin, or UTC"
                            : ", which does not exist: install tzdata, or use UTC"));
}

Result<TimeZone> TimeZone::read(std::string name, std::string_view file) {
  const Failure broken(Code::misconfigured, "the file of the time zone '" + printable(name, 80) +
                                                "' in " + kDatabase + " cannot be understood");
  Bytes bytes(file);
  std::optional<Header> header = Header::read(bytes);
  if (!header) return broken;
  std::size_t time_bytes = 4;
  if (header->version >= '2') {  // The same again, with longer numbers.
    bytes.take(header->size(4));
    header = Header::read(bytes);
    time_bytes = 8;
  }
  if (!header || !bytes.ok() || header->types == 0 ||
      header->size(time_bytes) > bytes.left().size()) {
    return broken;
  }
  TimeZone zone(std::move(name));
  for (std::size_t i = 0; i < header->changes; ++i)
    zone.changes_.push_back(bytes.number(time_bytes));
  const std::string_view kinds = bytes.take(header->changes);
  std::vector<seconds> offsets;
  for (std::size_t i = 0; i < header->types; ++i) {
    offsets.emplace_back(bytes.number(4));
    bytes.take(2);
  }
  for (const char kind : kinds) {
    const auto index = static_cast<unsigned char>(kind);
    if (index >= offsets.size()) return broken;
    zone.offsets_.push_back(offsets[index]);
  }
  if (!std::is_sorted(zone.changes_.begin(), zone.changes_.end())) return broken;
  zone.first_ = offsets.front();
  bytes.take(header->letters + header->leaps * (time_bytes + 4) + header->standard + header->ut);
  std::string_view footer = bytes.left();
  if (time_bytes == 8 && footer.size() > 2 && footer.front() == '\n') {
    footer.remove_prefix(1);
    zone.rules_ = ZoneRules::parse(footer.substr(0, footer.find('\n')));
    if (!zone.rules_) return broken;
  }
  return zone;
}

seconds TimeZone::offset_at(UtcSeconds moment) const {
  const std::int64_t wanted = moment.time_since_epoch().count();
  if (rules_ && (changes_.empty() || wanted >= changes_.back())) return rules_->offset_at(moment);
  const auto after = std::upper_bound(changes_.begin(), changes_.end(), wanted);
  if (after == changes_.begin()) return first_;
  return offsets_[static_cast<std::size_t>(after - changes_.begin()) - 1];
}

LocalSeconds TimeZone::to_local(UtcSeconds moment) const {
  return LocalSeconds(moment.time_since_epoch() + offset_at(moment));
}

UtcSeconds TimeZone::to_utc(LocalSeconds local) const {
  // No zone changes its offset twice in two days.
  const UtcSeconds as_if_utc(local.time_since_epoch());
  const seconds before = offset_at(as_if_utc - std::chrono::hours(25));
  const seconds after = offset_at(as_if_utc + std::chrono::hours(25));
  const UtcSeconds early = as_if_utc - std::max(before, after);
  const UtcSeconds late = as_if_utc - std::min(before, after);
  if (to_local(early) == local) return early;
  if (to_local(late) == local) return late;
  UtcSeconds low = early;  // still before the change
  UtcSeconds high = late;
  while (high - low > seconds(1)) {
    const UtcSeconds middle = low + (high - low) / 2;
    (offset_at(middle) == before ? low : high) = middle;
  }
  return high;
}

}  // namespace holdfast::internal
