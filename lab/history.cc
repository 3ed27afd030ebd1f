#include "lab/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace holdfast::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<EventKind, const char*>, 21> kNames{{
    {EventKind::asked, "asked"},       {EventKind::granted, "granted"},
    {EventKind::refused, "refused"},   {EventKind::believed, "believed"},
    {EventKind::doubted, "doubted"},   {EventKind::renewed, "renewed"},
    {EventKind::lost, "lost"},         {EventKind::releasing, "releasing"},
    {EventKind::released, "released"}, {EventKind::read, "read"},
    {EventKind::sent, "sent"},         {EventKind::wrote, "wrote"},
    {EventKind::barred, "barred"},     {EventKind::unclear, "unclear"},
    {EventKind::paused, "paused"},     {EventKind::resumed, "resumed"},
    {EventKind::died, "died"},         {EventKind::fault, "fault"},
    {EventKind::heal, "heal"},         {EventKind::probed, "probed"},
    {EventKind::stranded, "stranded"},
}};

}  // namespace

const char* event_name(EventKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "?";
}

std::optional<EventKind> event_kind(std::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

const char* fence_name(Fence fence) {
  switch (fence) {
    case Fence::none: return "none";
    case Fence::writes_only: return "writes";
    case Fence::full: return "full";
  }
  return "?";
}

std::string ResourceId::text() const {
  return sheet + "/" + fence_name(fence) + (log ? "/log" : "/register");
}

std::optional<ResourceId> ResourceId::parse(std::string_view text) {
  const std::size_t second = text.rfind('/');
  if (second == std::string_view::npos || second == 0) return std::nullopt;
  const std::size_t first = text.rfind('/', second - 1);
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view kind = text.substr(second + 1);
  if (kind != "log" && kind != "register") return std::nullopt;
  for (const Fence fence : kFences) {
    if (text.substr(first + 1, second - first - 1) == fence_name(fence)) {
      return ResourceId{std::string(text.substr(0, first)), fence, kind == "log"};
    }
  }
  return std::nullopt;
}

std::string to_line(const Event& event) {
  Json line = {{"at", event.at.time_since_epoch().count()},
               {"who", event.who},
               {"event", event_name(event.kind)}};
  if (!event.resource.empty()) line["resource"] = event.resource;
  if (event.token != 0) line["token"] = event.token;
  if (event.value != 0) line["value"] = event.value;
  if (!event.text.empty()) line["text"] = event.text;
  if (event.shared) line["mode"] = "shared";
  return line.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::optional<Event> parse_event(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    const auto kind = event_kind(json.at("event").get<std::string>());
    if (!kind) return std::nullopt;
    return Event{.at = BootTime(Duration(json.at("at").get<std::int64_t>())),
                 .who = json.at("who").get<std::string>(),
                 .kind = *kind,
                 .resource = json.value("resource", ""),
                 .token = json.value("token", std::uint64_t{0}),
                 .value = json.value("value", std::int64_t{0}),
                 .text = json.value("text", ""),
                 .shared = json.value("mode", "") == "shared"};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

HistoryFile::HistoryFile(const std::filesystem::path& path)
    : descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
}

HistoryFile::~HistoryFile() { close(descriptor_); }

void HistoryFile::add(Event event) {
  if (event.at == BootTime()) event.at = BootClock::now();
  const std::string line = to_line(event) + "\n";
  ssize_t written = -1;
  do {
    written = write(descriptor_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(line.size())) {
    throw std::system_error(errno, std::generic_category(), "the history");
  }
}

History read_history(const std::filesystem::path& path) {
  History history;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    if (auto event = parse_event(line)) history.push_back(std::move(*event));
  }
  std::ranges::stable_sort(history, {}, &Event::at);
  return history;
}

}  // namespace holdfast::lab
