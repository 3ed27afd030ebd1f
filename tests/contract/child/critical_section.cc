#include "critical_section.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <system_error>

namespace holdfast::contract {

CriticalSection::CriticalSection(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), file.string());
  if (ftruncate(descriptor, sizeof(State)) != 0) {
    throw std::system_error(errno, std::generic_category(), file.string());
  }
  void* memory = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  state_ = static_cast<State*>(memory);  // A file of zeros is a State at its beginning.
}

CriticalSection::~CriticalSection() { munmap(state_, sizeof(State)); }

void CriticalSection::pass(std::uint64_t token) {
  if (state_->inside.fetch_add(1) != 0) ++state_->overlaps;
  // We are alone if the lock is good for anything, so load and store need not be one step; and the
  // order in which we come here is the order of the grants.
  if (token <= state_->last_token.load()) ++state_->disorder;
  state_->last_token.store(token);
  const std::uint64_t before = state_->counter;
  for (int i = 0; i < 50; ++i) static_cast<void>(state_->inside.load());
  state_->counter = before + 1;
  state_->inside.fetch_sub(1);
}

}  // namespace holdfast::contract
