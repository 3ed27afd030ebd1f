#include "entrant.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace holdfast::bench {

std::vector<Entrant> installed_peers(const std::string& system) {
  const char* path = std::getenv("HOLDFAST_PEER_LIST");
  std::ifstream list(path != nullptr ? path : "");
  std::vector<Entrant> all;
  // SYSTEM, NAME and the words of the command, with tabs in between.
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string word;
    if (!std::getline(words, word, '\t') || word != system) continue;
    Entrant entrant;
    std::getline(words, entrant.name, '\t');
    while (std::getline(words, word, '\t')) entrant.command.push_back(word);
    all.push_back(entrant);
  }
  return all;
}

}  // namespace holdfast::bench
