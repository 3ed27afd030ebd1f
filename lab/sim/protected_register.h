// ProtectedRegister: what a lock protects: a number that is read, changed and written back. Each
// write must be one update of what is there; if it is not, an update was lost. Three of them stand
// side by side: without a fence, with one that checks writes, and with one that checks reads too.
#pragma once

#include <cstdint>

#include "holdfast/ids.h"

namespace holdfast::lab::sim {

enum class Fencing { none, writes, reads_and_writes };

class ProtectedRegister {
 public:
  explicit ProtectedRegister(Fencing fencing) : fencing_(fencing) {}

  struct Read {
    bool refused = false;
    std::uint64_t version = 0;
  };
  Read read(Token token) {
    if (fencing_ == Fencing::reads_and_writes && !admits(token)) return {.refused = true};
    return {.version = version_};
  }

  enum class Written { done, refused, update_lost };
  Written write(Token token, const Read& read) {
    if (read.refused || (fencing_ != Fencing::none && !admits(token))) return Written::refused;
    return version_++ == read.version ? Written::done : Written::update_lost;
  }

 private:
  bool admits(Token token) {
    if (token < mark_) return false;
    mark_ = token;
    return true;
  }
  Fencing fencing_;
  Token mark_;
  std::uint64_t version_ = 0;
};

}  // namespace holdfast::lab::sim
