// CliTest: a temporary directory with a database of its own, and the real binary.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "process.h"

namespace holdfast::test {

using Words = std::vector<std::string>;

class CliTest : public testing::Test {
 protected:
  CliTest() {
    char pattern[] = "/tmp/holdfast-cli-XXXXXX";
    directory_ = mkdtemp(pattern);
  }
  ~CliTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string url() const { return "sqlite://" + path("locks.db"); }

  // holdfast --on URL …
  Process start(const Words& words, ProcessOptions options = {}) const {
    Words all = {HOLDFAST_BINARY, "--on", url()};
    all.insert(all.end(), words.begin(), words.end());
    return start_plain(std::move(all), std::move(options));
  }
  Output run(const Words& words, ProcessOptions options = {}) const {
    return start(words, std::move(options)).wait();
  }
  static Process start_plain(Words words, ProcessOptions options = {}) {
    options.environment.emplace("HOLDFAST_URL", "");
    return Process(std::move(words), options);
  }
  // holdfast … without --on.
  static Output run_bare(Words words, ProcessOptions options = {}) {
    words.insert(words.begin(), HOLDFAST_BINARY);
    return start_plain(std::move(words), std::move(options)).wait();
  }
  // holdfast --json …, whose output must be JSON.
  nlohmann::json json(Words words, int status = 0) const {
    words.insert(words.begin(), "--json");
    const Output output = run(words);
    EXPECT_EQ(output.status, status) << output.out << output.err;
    nlohmann::json parsed = nlohmann::json::parse(output.out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << "not JSON: " << output.out;
    return parsed;
  }

  // True once `file` has as many lines.
  bool has_lines(const std::string& file, long count) const {
    return eventually([&] {
      const std::string text = read_all(path(file));
      return std::count(text.begin(), text.end(), '\n') >= count;
    });
  }
  std::vector<pid_t> pids_in(const std::string& file) const {
    std::istringstream text(read_all(path(file)));
    std::vector<pid_t> pids;
    for (pid_t pid = 0; text >> pid;) pids.push_back(pid);
    return pids;
  }

  std::string directory_;
};

// A child of that name; 0 if there is none.
inline pid_t child_named(pid_t parent, const std::string& name) {
  for (const pid_t child : children_of(parent)) {
    if (name_of(child) == name) return child;
  }
  return 0;
}
// The keeper and the guard of a running `holdfast run`; 0 if there is none yet.
inline pid_t keeper_of(pid_t runner) { return child_named(runner, "lock-keeper"); }
inline pid_t guard_of(pid_t runner) {
  const pid_t keeper = keeper_of(runner);
  return child_named(keeper > 0 ? keeper : runner, "holdfast-guard");
}

}  // namespace holdfast::test
