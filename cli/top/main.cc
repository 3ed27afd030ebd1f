// holdfast-top: the live screen. `holdfast top …` runs it with the same words.
#include "program.h"
#include "top/command.h"

int main(int argc, char** argv) {
  using namespace holdfast::cli;
  return run_program(argc, argv, [](std::vector<std::string> words) {
    return run_command("top", kTopOnHelp, &add_top, std::move(words));
  });
}
