#include "deadlock_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "duration.h"
#include "holdfast/text.h"
#include "lock_info.h"
#include "shell_word.h"

namespace holdfast::cli {
namespace {

// More would hide the first ones.
constexpr std::size_t kMostTold = 3;
constexpr std::size_t kMostWaits = 30;

Json json_of(const Deadlock::Wait& wait) {
  Json object = {
      {"owner", wait.owner}, {"label", shown_label(wait.label)}, {"engine", wait.engine}};
  put_name(object, wait.name);
  object["mode"] = mode_name(wait.mode);
  if (wait.waited_for) object["waited_for_ms"] = to_ms(*wait.waited_for);
  object["for"] = Json::array();
  for (const Deadlock::Blocker& blocker : wait.waits_for) {
    Json& each = object["for"].emplace_back();
    each = {{"owner", blocker.owner}, {"label", shown_label(blocker.label)}};
    if (blocker.token) each["token"] = blocker.token->value();
  }
  return object;
}

// "held by job-9, token 17", "behind job-3 in the queue".
std::string blockers_text(const Deadlock::Wait& wait) {
  std::string text;
  for (std::size_t i = 0; i < wait.waits_for.size() && i < kMostTold; ++i) {
    const Deadlock::Blocker& blocker = wait.waits_for[i];
    text += i == 0 ? ", " : "; ";
    text += blocker.token ? "held by " + blocker.owner + ", token " + blocker.token->str()
                          : "behind " + blocker.owner + " in the queue";
  }
  if (wait.waits_for.size() > kMostTold) {
    text += "; and " + std::to_string(wait.waits_for.size() - kMostTold) + " more";
  }
  return text;
}

std::string wait_text(const Deadlock::Wait& wait) {
  std::string text = "  " + wait.owner + " (" + shown_label(wait.label) + ") waits ";
  if (wait.waited_for) text += format_duration(*wait.waited_for) + " ";
  text += "for '" + wait.name.display() + "'";
  if (wait.mode != Mode::exclusive) text += std::string(" (") + mode_name(wait.mode) + ")";
  return text + " on " + wait.engine + blockers_text(wait) + "\n";
}

std::string headline(const Deadlock& deadlock) {
  const std::size_t owners = deadlock.owners.size();
  if (owners == 1) {
    return "possibly a deadlock: " + deadlock.owners[0].owner +
           " waits for what it holds itself, which is none if another of its threads holds it:\n";
  }
  std::string text = deadlock.only_possible ? "possibly a deadlock" : "a deadlock";
  text += " of " + std::to_string(owners) + " owners";
  if (deadlock.only_possible) text += ", unless other threads of theirs hold what they hold";
  return text + ":\n";
}

// "holdfast break stock --token 17", which takes from the youngest what another one waits for. Empty if it holds nothing
// of that, or the lock has a name that nobody can type.
std::string way_out(const Deadlock& deadlock, const OptionsFor& options_for) {
  for (const Deadlock::Wait& wait : deadlock.waits) {
    for (const Deadlock::Blocker& blocker : wait.waits_for) {
      if (blocker.owner != deadlock.youngest || !blocker.token) continue;
      const std::string& name = wait.name.bytes();
      if (printable(name, Name::kMaxBytes) != name) continue;
      const std::string word = shell_word(name);
      const std::string lock = name.starts_with('-')
                                   ? "--token " + blocker.token->str() + " -- " + word
                                   : word + " --token " + blocker.token->str();
      return "holdfast" + options_for(wait.engine) + " break " + lock;
    }
  }
  return {};
}

}  // namespace

Json to_json(const Deadlock& deadlock) {
  Json object = {{"certain", !deadlock.only_possible}, {"owners", Json::array()}};
  for (const Deadlock::Owner& each : deadlock.owners) {
    object["owners"].push_back({{"owner", each.owner}, {"label", shown_label(each.label)}});
  }
  object["waits"] = Json::array();
  for (const Deadlock::Wait& wait : deadlock.waits) object["waits"].push_back(json_of(wait));
  if (!deadlock.youngest.empty()) object["youngest"] = deadlock.youngest;
  object["behind"] = deadlock.behind;
  return object;
}

std::string deadlock_text(const Deadlock& deadlock, const OptionsFor& options_for) {
  std::string text = headline(deadlock);
  for (std::size_t i = 0; i < deadlock.waits.size() && i < kMostWaits; ++i) {
    text += wait_text(deadlock.waits[i]);
  }
  if (deadlock.waits.size() > kMostWaits) {
    text += "  and " + std::to_string(deadlock.waits.size() - kMostWaits) +
            " more waits (--json has them all)\n";
  }
  if (deadlock.behind > 0) {
    text += "  " + std::to_string(deadlock.behind) +
            (deadlock.behind == 1 ? " other waits" : " others wait") + " behind them\n";
  }
  if (deadlock.only_possible || deadlock.youngest.empty()) return text;
  const std::string command = way_out(deadlock, options_for);
  text += "  the youngest wait is " + deadlock.youngest + "'s; to end it: ";
  return text + (command.empty() ? "" : command + ", or ") + "end that program\n";
}

std::string deadlock_line(const Deadlock& deadlock) {
  std::string circle;
  std::string locks;
  for (std::size_t i = 0; i < deadlock.waits.size() && i < kMostTold; ++i) {
    const Deadlock::Wait& wait = deadlock.waits[i];
    circle += wait.owner + " > ";
    locks += (i == 0 ? "" : ", ") + wait.name.display() + " on " + wait.engine;
  }
  if (deadlock.waits.size() > kMostTold) return printable(circle + "... (" + locks + ", ...)");
  return printable(circle + deadlock.waits.front().owner + " (" + locks + ")");
}

}  // namespace holdfast::cli
