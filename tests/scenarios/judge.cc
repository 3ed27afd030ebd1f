#include "judge.h"

#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace holdfast::scenarios {
namespace {

// The number under `key`, with or without a fence before it.
class Number {
 public:
  Number(test::RedisServer& server, RedisFence* fence, std::string key)
      : server_(server), fence_(fence), key_(std::move(key)) {}

  // Nothing if the fence refuses.
  std::optional<int> read(Token token) {
    if (fence_ == nullptr) return to_number(server_.command({"GET", key_}));
    const auto text = fence_->get(key_, token);
    if (!admitted(text)) return std::nullopt;
    return to_number(text.value().value_or(""));
  }

  // False if the fence refuses.
  bool write(Token token, int value) {
    if (fence_ != nullptr) return admitted(fence_->set(key_, token, std::to_string(value)));
    return server_.command({"SET", key_, std::to_string(value)}) == "OK";
  }

  int at_the_end() { return to_number(server_.command({"GET", key_})); }

 private:
  static int to_number(const std::string& text) { return text.empty() ? 0 : std::stoi(text); }

  template <class T>
  static bool admitted(const Result<T>& result) {
    // Anything else would be a broken resource, from which no verdict follows.
    if (!result && result.code() != Code::stale_token) throw std::runtime_error(result.message());
    return static_cast<bool>(result);
  }

  test::RedisServer& server_;
  RedisFence* fence_;
  std::string key_;
};

// One worker on one number: reads at its first step, writes at its second.
class Adder {
 public:
  Adder(const Judge::Worker& worker, Number& number) : worker_(worker), number_(number) {}

  void step() {
    if (!worker_.held()) return;
    const bool first = !std::exchange(begun_, true);
    if (first) {
      seen_ = number_.read(worker_.token);
    } else if (seen_) {
      acknowledged_ = number_.write(worker_.token, *seen_ + 1);
    }
  }
  bool acknowledged() const { return acknowledged_; }

 private:
  const Judge::Worker& worker_;
  Number& number_;
  bool begun_ = false;
  bool acknowledged_ = false;
  std::optional<int> seen_;
};

// Every order of A's two steps and B's two.
constexpr const char* kOrders[] = {"AABB", "ABAB", "ABBA", "BAAB", "BABA", "BBAA"};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  const auto yes_no = [](bool value) { return value ? "yes" : "no"; };
  return out << "overlap: " << yes_no(verdict.overlap)
             << ", harm without a fence: " << yes_no(verdict.harm_without_fence)
             << ", harm with a fence: " << yes_no(verdict.harm_with_fence);
}

Judge::Judge() : fence_(RedisFence::open(resource_.url()).value()) {}

Judge::Worker Judge::worker(const Lease& lease) {
  return {.held = [&lease] { return lease.held(); }, .token = lease.token()};
}

Judge::Worker Judge::worker(const Result<Lease>& lease) {
  if (lease) return worker(*lease);
  return {.held = [] { return false; }, .token = Token(0)};
}

Verdict Judge::judge(const Worker& a, const Worker& b) {
  // A is asked before and after: if it holds both times, it held while B said yes.
  const bool overlap = a.held() && b.held() && a.held();
  return {.overlap = overlap,
          .harm_without_fence = harmed(a, b, false),
          .harm_with_fence = harmed(a, b, true)};
}

bool Judge::harmed(const Worker& a, const Worker& b, bool fenced) {
  bool harm = false;
  for (const char* order : kOrders) harm |= loses_updates(order, a, b, fenced);
  return harm;
}

bool Judge::loses_updates(const std::string& order, const Worker& a, const Worker& b, bool fenced) {
  Number number(resource_, fenced ? &fence_ : nullptr, "number-" + std::to_string(++numbers_));
  Adder adder_a(a, number);
  Adder adder_b(b, number);
  for (const char who : order) (who == 'A' ? adder_a : adder_b).step();
  const int acknowledged = int{adder_a.acknowledged()} + int{adder_b.acknowledged()};
  return number.at_the_end() < acknowledged;
}

}  // namespace holdfast::scenarios
