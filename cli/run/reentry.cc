#include "reentry.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "command_words.h"

namespace holdfast::cli {

std::optional<std::string> problem_with_nesting(const ClaimPlan& plan, const HoldsAbove& above,
                                                bool reenter) {
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (!above[i]) continue;
    const std::string lock = "'" + plan.names[i].display() + "' is held by a `holdfast run` above";
    if (!reenter) {
      return lock +
             " this one, which would wait for itself; --reenter runs the command under the "
             "lock that is held already";
    }
    // Others may hold it, too.
    if (above[i]->mode != plan.mode && above[i]->mode != Mode::exclusive) {
      return lock + " this one as " + mode_name(above[i]->mode) +
             ", which is less than is asked for; take it as " + mode_name(plan.mode) + " there";
    }
  }
  return std::nullopt;
}

std::vector<Name> names_to_take(const ClaimPlan& plan, const HoldsAbove& above) {
  std::vector<Name> names = plan.sorted_names();
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (above[i]) std::erase(names, plan.names[i]);
  }
  return names;
}

CommandLocks command_locks(const ClaimPlan& plan, const std::string& url, const HoldsAbove& above) {
  CommandLocks locks{.locks = {},
                     .mode = plan.mode,
                     .owner = plan.lock.owner.str(),
                     .held_above = inherited_holds()};
  for (std::size_t i = 0; i < plan.names.size(); ++i) {
    locks.locks.push_back(
        {plan.names[i], above[i] ? std::string() : nesting_key(url, plan.names[i])});
  }
  return locks;
}

int run_under_held(const Session& session, const CommandLocks& locks, const HoldsAbove& above,
                   std::vector<std::string> words) {
  std::vector<std::uint64_t> tokens;
  for (const auto& hold : above) tokens.push_back(hold->token);
  // Another run may stand between us and the one that holds them, and has set the variables of its own locks.
  forget_lock_variables();
  // The environment keeps the pointers: the strings last until exec.
  std::vector<std::string> variables = lock_variables(locks, tokens);
  for (std::string& variable : variables) putenv(variable.data());
  return exec_command(session, std::move(words));
}

}  // namespace holdfast::cli
