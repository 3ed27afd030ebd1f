// serve: the side of a worker (worker.h) on which the lines arrive.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>

namespace holdfast::bench {

// `obey(verb, words)` answers each line on stdin. `connect` comes first. Returns the exit status.
inline int serve(
    const std::function<void()>& connect,
    const std::function<std::string(const std::string& verb, std::istringstream& words)>& obey) {
  try {
    connect();
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string verb;
      words >> verb;
      std::cout << obey(verb, words) << std::endl;
    }
  } catch (const std::exception& error) {
    std::cout << "failed: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}

}  // namespace holdfast::bench
