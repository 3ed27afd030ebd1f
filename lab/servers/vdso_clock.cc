#include "vdso_clock.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("the clock of a process cannot be moved: " + what);
}

// clock_gettime(edi: which clock, rsi: timespec*), by system call; to seconds of clock 0
// (CLOCK_REALTIME) the offset behind the code is added.
constexpr unsigned char kCode[] = {
    0xb8, 0xe4, 0x00, 0x00, 0x00,              // mov eax, 228: SYS_clock_gettime
    0x0f, 0x05,                                // syscall
    0x85, 0xff,                                // test edi, edi
    0x75, 0x0a,                                // jne to the ret
    0x48, 0x8b, 0x0d, 0x06, 0x00, 0x00, 0x00,  // mov rcx, [rip + 6]: the offset
    0x48, 0x01, 0x0e,                          // add [rsi], rcx
    0xc3,                                      // ret
    0x00, 0x00,                                // so that the offset is aligned:
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
constexpr std::size_t kOffsetInCode = 24;
static_assert(sizeof kCode == kOffsetInCode + sizeof(std::int64_t));

struct Pages {
  std::uint64_t begin = 0;
  std::vector<char> bytes;
};

Pages vdso_of(pid_t process, int memory) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with("[vdso]")) continue;
    std::size_t used = 0;
    Pages pages{.begin = std::stoull(line, &used, 16), .bytes = {}};
    const std::uint64_t end = std::stoull(line.substr(used + 1), nullptr, 16);
    pages.bytes.resize(end - pages.begin);
    const ssize_t size =
        pread(memory, pages.bytes.data(), pages.bytes.size(), static_cast<off_t>(pages.begin));
    if (size != static_cast<ssize_t>(pages.bytes.size())) fail(std::strerror(errno));
    return pages;
  }
  fail("it has no vDSO");
}

template <class T>
T at(const Pages& pages, std::uint64_t offset) {
  if (offset + sizeof(T) > pages.bytes.size()) fail("its vDSO is not as expected");
  T value;
  std::memcpy(&value, pages.bytes.data() + offset, sizeof value);
  return value;
}

// Where a function begins, from the begin of the pages.
std::uint64_t find_function(const Pages& pages, const std::string& name) {
  const auto header = at<Elf64_Ehdr>(pages, 0);
  for (int i = 0; i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(pages, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto names = at<Elf64_Shdr>(pages, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (std::uint64_t at_symbol = 0; at_symbol < section.sh_size; at_symbol += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(pages, section.sh_offset + at_symbol);
      const std::uint64_t place = names.sh_offset + symbol.st_name;
      if (place + name.size() >= pages.bytes.size()) continue;
      if (name == std::string(pages.bytes.data() + place)) return symbol.st_value;
    }
  }
  fail("its vDSO has no " + name);
}

}  // namespace

bool VdsoClock::works_here() {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

VdsoClock::VdsoClock(pid_t process) {
  if (!works_here()) fail("not on this kind of processor");
  memory_ = open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDWR | O_CLOEXEC);
  if (memory_ < 0) fail(std::strerror(errno));
  try {
    const Pages pages = vdso_of(process, memory_);
    const std::uint64_t function = find_function(pages, "__vdso_clock_gettime");
    // Behind the vDSO its last page is empty.
    const std::uint64_t place = pages.bytes.size() - 2 * sizeof kCode;
    if (std::any_of(pages.bytes.begin() + static_cast<std::ptrdiff_t>(place), pages.bytes.end(),
                    [](char byte) { return byte != 0; })) {
      fail("its vDSO has no room");
    }
    write(pages.begin + place, kCode, sizeof kCode);
    offset_at_ = pages.begin + place + kOffsetInCode;
    // A thread that is in the old code already goes on there, which does no harm.
    unsigned char jump[5] = {0xe9};
    const auto distance = static_cast<std::int32_t>(place - (function + sizeof jump));
    std::memcpy(jump + 1, &distance, sizeof distance);
    write(pages.begin + function, jump, sizeof jump);
  } catch (...) {
    close(memory_);
    throw;
  }
}

VdsoClock::~VdsoClock() { close(memory_); }

void VdsoClock::set_ahead(std::chrono::seconds by) {
  const std::int64_t seconds = by.count();
  write(offset_at_, &seconds, sizeof seconds);
}

void VdsoClock::write(std::uint64_t address, const void* bytes, std::size_t size) {
  const ssize_t done = pwrite(memory_, bytes, size, static_cast<off_t>(address));
  if (done != static_cast<ssize_t>(size)) fail(std::strerror(errno));
}

}  // namespace holdfast::test
