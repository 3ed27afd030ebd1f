// post_once(): runs `work` once inside a loop, from any thread.
#pragma once

#include <memory>
#include <utility>

#include "holdfast/runtime.h"

namespace holdfast::internal {

template <class Work>
void post_once(Runtime& runtime, Work work) {
  struct Once final : Runnable {
    explicit Once(Work the_work) : work(std::move(the_work)) {}
    void run() override {
      Work mine = std::move(work);
      delete this;
      mine();
    }
    Work work;
  };
  runtime.post(*new Once(std::move(work)));
}

}  // namespace holdfast::internal
