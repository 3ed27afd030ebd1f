// The command of `run`, from -c or from behind "--", and how it becomes this process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "claim_options.h"

namespace holdfast::cli {

// `names` tells of a "--" that is missing: then the command stands among the names.
Result<std::vector<std::string>> command_words(std::vector<std::string> behind_dashes,
                                               const std::optional<std::string>& shell_command,
                                               const std::vector<std::string>& names);

// Why the command could not be run, by errno of exec.
int fail_to_run(const Session& session, const std::string& word, int error);

// Becomes the command. Returns only if it cannot: the exit status.
int exec_command(const Session& session, std::vector<std::string> words);

}  // namespace holdfast::cli
