// Starts a server, runs a program with its URL as the last argument, and ends with that program's status.
// Usage: with_server redis|postgres PROGRAM [ARGUMENT…]
#include <spawn.h>
#include <sys/wait.h>

#include <iostream>
#include <string>
#include <vector>

#include "postgres_server.h"
#include "redis_server.h"

namespace {

int run(std::vector<std::string> words, const std::string& url) {
  words.push_back(url);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
    return 127;
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: with_server redis|postgres PROGRAM [ARGUMENT…]\n";
    return 64;
  }
  const std::vector<std::string> words(argv + 2, argv + argc);
  if (std::string(argv[1]) == "postgres") return run(words, holdfast::test::PostgresServer().url());
  return run(words, holdfast::test::RedisServer().url());
}
