#include "word_list.h"

#include <CLI/CLI.hpp>

namespace holdfast::cli {

void add_word_list(CLI::App& command, const char* title, std::vector<std::string>& words,
                   const char* help) {
  // A callback gets the words unconverted. Lists in brackets are split only where "extra arguments" are allowed;
  // so as many are expected as could ever come, and TakeAll is content with fewer.
  constexpr int kMany = 1 << 20;
  const CLI::callback_t keep = [&words](const CLI::results_t& typed) {
    words = typed;
    return true;
  };
  command.add_option(title, keep, help)
      ->type_name("")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(kMany, CLI::detail::expected_max_vector_size)
      ->required();
}

}  // namespace holdfast::cli
