#include "lab/sim/shrink.h"

#include <algorithm>
#include <vector>

namespace holdfast::lab::sim {

namespace {

class Shrinker {
 public:
  Shrinker(Selection selection, const std::function<bool(const Selection&)>& fails, int budget)
      : kept_(std::move(selection)), fails_(fails), budget_(budget) {}

  Selection run() {
    // Large pieces first: most decisions do not matter.
    for (std::size_t piece = std::max<std::size_t>(kept_.size() / 2, 1); piece > 0; piece /= 2) {
      drop_pieces(piece);
    }
    drop_pieces(1);  // Pieces that were needed at first may not be any more.
    shorten();
    return kept_;
  }

 private:
  bool try_out(const Selection& candidate) {
    if (budget_-- <= 0 || !fails_(candidate)) return false;
    kept_ = candidate;
    return true;
  }

  void drop_pieces(std::size_t piece) {
    for (std::size_t from = 0; from < kept_.size();) {
      Selection fewer = kept_;
      auto first = fewer.kept().begin();
      std::advance(first, static_cast<std::ptrdiff_t>(from));
      auto last = first;
      for (std::size_t i = 0; i < piece && last != fewer.kept().end(); ++i) ++last;
      fewer.kept().erase(first, last);
      if (!try_out(fewer)) from += piece;
    }
  }

  void shorten() {
    constexpr unsigned kMaxDivisor = 64;
    std::vector<std::size_t> numbers;
    for (const auto& [number, divisor] : kept_.kept()) numbers.push_back(number);
    for (const std::size_t number : numbers) {
      for (unsigned divisor = 2; divisor <= kMaxDivisor; divisor *= 2) {
        Selection shorter = kept_;
        shorter.kept()[number] = divisor;
        if (!try_out(shorter)) break;
      }
    }
  }

  Selection kept_;
  const std::function<bool(const Selection&)>& fails_;
  int budget_;
};

}  // namespace

Selection shrink(std::size_t decisions, const std::function<bool(const Selection&)>& fails,
                 int budget) {
  return Shrinker(Selection::first(decisions), fails, budget).run();
}

}  // namespace holdfast::lab::sim
