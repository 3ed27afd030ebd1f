// A positional argument that takes any number of words, each exactly as it was typed. (A vector option of CLI11
// would read "[a,b]" as two words and "{}" as none.)
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::cli {

// REQUIRES: the last positional of the command. At least one word must be given.
void add_word_list(CLI::App& command, const char* title, std::vector<std::string>& words,
                   const char* help);

}  // namespace holdfast::cli
