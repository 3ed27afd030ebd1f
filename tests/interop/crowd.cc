#include "crowd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace holdfast::interop {

namespace {

std::string content_of(const std::filesystem::path& file) {
  std::stringstream content;
  content << std::ifstream(file).rdbuf();
  return content.str();
}

}  // namespace

void Crowd::join(contract::Child child, const std::string& lock, int passes,
                 const std::string& verb) {
  child.send(verb + " " + lock + " " + file().string() + " " + std::to_string(passes));
  children_.push_back(std::move(child));
  passes_ += passes;
}

void Crowd::begin() {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // All wait for it by now.
  std::ofstream(file().string() + ".go").close();
}

void Crowd::finish() {
  for (contract::Child& child : children_) {
    // A busy machine may need longer than a child is waited for; one that is gone says so at once.
    std::string answer = child.answer();
    for (int i = 0; i < 2 && answer == "(no answer)"; ++i) answer = child.answer();
    EXPECT_EQ(answer, "done 0");
  }
  EXPECT_EQ(content_of(file()), std::to_string(passes_)) << "an overlap lost a count";
  log_ = content_of(file().string() + ".log");
  const auto overlaps = static_cast<std::size_t>(std::ranges::count(log_, '!'));
  EXPECT_EQ(overlaps, 0U) << "so often somebody was inside already";
  EXPECT_EQ(log_.size() - overlaps, static_cast<std::size_t>(passes_));
}

std::size_t Crowd::passes_while_all_contended(char who) const {
  std::size_t end = log_.size();
  for (const char letter : std::set<char>(log_.begin(), log_.end())) {
    if (letter != '!') end = std::min(end, log_.rfind(letter));
  }
  return static_cast<std::size_t>(std::ranges::count(log_.substr(0, end), who));
}

}  // namespace holdfast::interop
