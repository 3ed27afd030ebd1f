// Eternal<T>: a function's static object that is never destroyed. Clients may be global objects: they
// work before main(), and end after it, when objects with destructors may be gone already.
#pragma once

#include <new>
#include <utility>

namespace holdfast::internal {

template <class T>
class Eternal {
 public:
  template <class Value>
  Eternal(
      Value&&
          value) {  // NOLINT(google-explicit-constructor, bugprone-forwarding-reference-overload)
    ::new (static_cast<void*>(bytes_)) T(std::forward<Value>(value));
  }
  Eternal(const Eternal&) = delete;
  Eternal& operator=(const Eternal&) = delete;

  const T& operator*() const { return *std::launder(reinterpret_cast<const T*>(bytes_)); }
  operator const T&() const { return **this; }  // NOLINT(google-explicit-constructor)

 private:
  alignas(T) unsigned char bytes_[sizeof(T)];
};

}  // namespace holdfast::internal
