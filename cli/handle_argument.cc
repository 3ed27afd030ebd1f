#include "handle_argument.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace holdfast::cli {

void add_handle(CLI::App& command, std::string& text) {
  command.add_option("HANDLE", text, "What `holdfast acquire` printed; - reads it from the input")
      ->type_name("")
      ->required();
}

Result<Handle> read_handle(const std::string& text) {
  std::string word = text;
  if (word == "-") {
    word.clear();
    std::cin >> word;
  }
  return Handle::parse(word);
}

}  // namespace holdfast::cli
