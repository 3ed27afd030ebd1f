// A host that is short of things: replaces pthread_create() and getaddrinfo() in this program.
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

namespace holdfast::test {

// While it lives, only `allowed` more threads can be started: then pthread_create() fails with EAGAIN,
// as where pids.max is reached.
class FewThreads {
 public:
  explicit FewThreads(int allowed);
  ~FewThreads();
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
};

// While it lives, only `allowed` more descriptors can be opened.
class FewDescriptors {
 public:
  explicit FewDescriptors(int allowed);
  ~FewDescriptors();
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> fillers_;  // in the gaps below the limit
};

// "NAME.guest.test" has these addresses.
void set_addresses(const std::string& name, std::vector<std::string> addresses);

// While it lives, lookups of "hangs.guest.test" get no answer.
class HangingResolver {
 public:
  HangingResolver();
  ~HangingResolver();  // answers all that hang: no such name
  HangingResolver(const HangingResolver&) = delete;
  HangingResolver& operator=(const HangingResolver&) = delete;

  // How many lookups hang now.
  static int hanging();
};

}  // namespace holdfast::test
