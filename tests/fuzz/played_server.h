// PlayedServer: in the place of a socket, a server that says what the fuzzer likes. It replaces
// wire/stream.cc in the fuzzers' programs: every connection that is opened while one exists leads
// to it. What it says is a text cut into parts by the byte 1: one part for each write of the
// client's, over all connections; an empty part ends the connection, and at the end it is silent.
#pragma once

#include <string_view>

#include "holdfast/runtime.h"

namespace holdfast::fuzz {

class PlayedServer {
 public:
  // `said` must outlive it. At most one at a time.
  PlayedServer(Runtime& runtime, std::string_view said);
  ~PlayedServer();
  PlayedServer(const PlayedServer&) = delete;
  PlayedServer& operator=(const PlayedServer&) = delete;

  static PlayedServer* current();
  // The next part; nothing if there is none.
  std::optional<std::string_view> next();
  TaskGroup& tasks() { return tasks_; }

 private:
  std::string_view said_;
  TaskGroup tasks_;
};

}  // namespace holdfast::fuzz
