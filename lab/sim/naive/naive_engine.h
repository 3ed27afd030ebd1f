// NaiveEngine: what the recipes of the literature have in common: a word on one server, asked for
// again and again. Each of them is a mistake that the laboratory must catch; none is in the library.
#pragma once

#include <functional>
#include <memory>

#include "lab/sim/naive/plain_word.h"
#include "lab/sim/sim_calls.h"

namespace holdfast::lab::sim {

class NaiveEngine : public Engine {
 public:
  NaiveEngine(internal::SimRuntime& node, internal::SimRuntime& server, PlainWord& word,
              SimNetwork& network, Duration patience);

  void set_connected(bool sends, bool hears) { calls_.set_connected(sends, hears); }

  const Guarantees& guarantees() const override { return guarantees_; }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold&, Deadline) override { co_return not_simulated(); }
  Task<Result<std::vector<LockInfo>>> list(const std::string&, Deadline) override {
    co_return not_simulated();
  }
  Task<Result<LockInfo>> inspect(const Name&, Deadline) override { co_return not_simulated(); }
  Task<Result<void>> evict(const Name&, Token, Deadline) override { co_return not_simulated(); }

 protected:
  // One attempt: a token, 0 if it is busy.
  virtual Task<Result<std::uint64_t>> attempt(Claim claim) = 0;
  // The server's part. The request may come there when this client has crashed: it must not need us.
  using AtServer = std::function<bool(PlainWord&)>;
  // Begins the holder's time anew.
  virtual AtServer extend(const Claim& claim) const = 0;
  // Whether the word is the claim's.
  virtual AtServer owns(const Claim& claim) const = 0;

  template <class T>
  Task<Result<SimCalls::Reply<T>>> call(std::function<T(PlainWord&)> question) {
    std::function<std::optional<T>()> at_server =
        [word = &word_, question = std::move(question)]() -> std::optional<T> {
      return question(*word);
    };
    return calls_.call<T>(server_, std::move(at_server), Deadline::never());
  }
  internal::SimRuntime& node_;

 private:
  static Failure not_simulated() { return Failure(Code::unsupported, "not simulated"); }

  internal::SimRuntime& server_;
  PlainWord& word_;
  Guarantees guarantees_;
  SimCalls calls_;
};

enum class NaiveRecipe {
  none,
  set_nx_expire,   // SETNX, then EXPIRE
  set_nx_get_set,  // SETNX with a timestamp; GETSET if that has passed
};

std::unique_ptr<NaiveEngine> make_naive_engine(NaiveRecipe recipe, internal::SimRuntime& node,
                                               internal::SimRuntime& server, PlainWord& word,
                                               SimNetwork& network, Duration patience);

}  // namespace holdfast::lab::sim
