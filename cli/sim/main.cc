// holdfast-sim: the simulation. `holdfast sim …` runs it with the same words.
#include "commands.h"
#include "program.h"

int main(int argc, char** argv) {
  using namespace holdfast::cli;
  return run_program(argc, argv, [](std::vector<std::string> words) {
    return run_command("sim", kOnHelp, &add_sim, std::move(words));
  });
}
