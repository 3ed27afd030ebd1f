// holdfast-serve: the daemon. `holdfast serve …` runs it with the same words.
#include "program.h"
#include "serve/command.h"

int main(int argc, char** argv) {
  using namespace holdfast::cli;
  return run_program(argc, argv, [](std::vector<std::string> words) {
    return run_command("serve", kOnHelp, &add_serve, std::move(words));
  });
}
