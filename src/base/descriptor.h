// Descriptor: owns a file descriptor and closes it. A value that can be moved, or empty.
#pragma once

#include <unistd.h>

#include <utility>

namespace holdfast::internal {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  bool valid() const { return number_ >= 0; }
  // -1 if it is empty.
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  void reset() {
    if (valid()) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace holdfast::internal
