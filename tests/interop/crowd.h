// Crowd: processes that go through one section (section.h) under one lock, and what they left.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "child.h"
#include "temp_dir.h"

namespace holdfast::interop {

class Crowd {
 public:
  // `lock` is the lock's name as this peer has it. `verb`: how it is told, if not by "sections".
  void join(contract::Child child, const std::string& lock, int passes,
            const std::string& verb = "sections");

  // Lets them begin.
  void begin();
  // Waits for all, and checks that each finished its count without an overlap.
  void finish();
  void run() { begin(), finish(); }

  // How many of `who`'s passes came before the first of the parties was through with all of its
  // own: from then on nobody contends with it.
  std::size_t passes_while_all_contended(char who) const;

 private:
  std::filesystem::path file() const { return folder_.path() / "section"; }

  test::TempDir folder_;
  std::vector<contract::Child> children_;
  int passes_ = 0;
  std::string log_;
};

}  // namespace holdfast::interop
