// holdfast-torture: starts real servers. `holdfast torture …` runs it with the same words.
#include "program.h"
#include "torture/command.h"

int main(int argc, char** argv) {
  using namespace holdfast::cli;
  return run_program(argc, argv, [](std::vector<std::string> words) {
    return run_command("torture", "Your own server instead: a URL, or @FILE with one",
                       &declare_torture, std::move(words));
  });
}
