#include "nesting.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "lock_variables.h"

namespace holdfast::cli {
namespace {

constexpr const char* kVariable = "HOLDFAST_HELD";

// The token of the last entry for this lock; 0 if there is none.
std::uint64_t token_above(const std::string& entries, const std::string& key) {
  std::istringstream words(entries);
  std::uint64_t token = 0;
  for (std::string entry; words >> entry;) {
    if (!entry.starts_with(key + ":")) continue;
    const char* const end = entry.data() + entry.size();
    if (std::from_chars(entry.data() + key.size() + 1, end, token).ptr != end) token = 0;
  }
  return token;
}

// As it travels through a pipe.
struct Answer {
  bool held = false;
  HeldAbove hold;
};
using Answers = std::array<Answer, kMaxNames>;

// One message, which a pipe takes as a whole.
static_assert(sizeof(Answers) <= 4096);

// Completes the holds whose tokens are set.
void ask_engine(const Session& session, const std::vector<Name>& names, Answers& answers) {
  Result<Client> client = session.open({.observer = std::make_shared<Observer>()});
  if (!client) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (answers[i].hold.token == 0) continue;
    const Result<LockInfo> lock = client->inspect(names[i]);
    if (!lock) continue;
    for (const HolderInfo& holder : lock->holders) {
      if (holder.token.value() != answers[i].hold.token) continue;
      answers[i].held = true;
      answers[i].hold.mode = holder.mode;
    }
  }
}

}  // namespace

// FNV-1a: a mistake costs one question more, since the token is compared as well.
std::string nesting_key(const std::string& url, const Name& name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::string* text : {&url, &name.bytes()}) {
    for (const unsigned char byte : *text) hash = (hash ^ byte) * 0x100000001b3U;
    hash = (hash ^ 0x100U) * 0x100000001b3U;
  }
  std::array<char, 17> digits;
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

std::string inherited_holds() {
  const char* value = std::getenv(kVariable);
  return value == nullptr ? "" : value;
}

std::vector<std::optional<HeldAbove>> held_above(const Session& session, const std::string& url,
                                                 const std::vector<Name>& names) {
  std::vector<std::optional<HeldAbove>> holds(names.size());
  const std::string entries = inherited_holds();
  if (entries.empty()) return holds;
  Answers answers{};
  bool any = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    answers[i].hold.token = token_above(entries, nesting_key(url, names[i]));
    any = any || answers[i].hold.token != 0;
  }
  std::array<int, 2> ends;
  if (!any || pipe(ends.data()) != 0) return holds;
  const pid_t child = fork();
  if (child == 0) {
    ask_engine(session, names, answers);
    _exit(write(ends[1], &answers, sizeof answers) == sizeof answers ? 0 : 1);
  }
  close(ends[1]);
  if (child < 0 || read(ends[0], &answers, sizeof answers) != sizeof answers) answers = {};
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (answers[i].held) holds[i] = answers[i].hold;
  }
  return holds;
}

}  // namespace holdfast::cli
