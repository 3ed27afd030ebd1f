#include "fence/file_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fence/files.h"
#include "fence/fnv1a.h"
#include "fence/lock_file.h"

namespace holdfast::internal::fence {

namespace slots {

namespace {

constexpr std::string_view kMagic = "HFfence1";
constexpr std::size_t kWordBytes = 8;

void append_word(std::string& out, std::uint64_t word) {
  for (std::size_t i = 0; i < kWordBytes; ++i) out += static_cast<char>(word >> (8 * i) & 0xff);
}

std::uint64_t word_at(std::string_view bytes, std::size_t offset) {
  std::uint64_t word = 0;
  for (std::size_t i = kWordBytes; i-- > 0;) {
    word = word << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return word;
}

// The slot's number is part of the sum: a block written to the wrong place is not a slot.
void append_sum(std::string& out, std::size_t slot) { append_word(out, fnv1a(out, slot)); }

}  // namespace

std::string encode(std::size_t slot, const Mark& mark) {
  std::string bytes(kMagic);
  append_word(bytes, mark.newest.value());
  append_sum(bytes, slot);
  append_word(bytes, mark.writer.value());
  append_sum(bytes, slot);
  return bytes;
}

std::optional<Mark> decode(std::size_t slot, std::string_view bytes) {
  if (bytes.size() != kSlotBytes) return std::nullopt;
  const Token newest(word_at(bytes, kMagic.size()));
  const Mark mark{Token(word_at(bytes, kOneNumberBytes)), newest};
  const std::string whole = encode(slot, mark);
  if (bytes == whole && mark.writer <= newest) return mark;
  const std::string_view one_number(whole.data(), kOneNumberBytes);
  if (!bytes.starts_with(one_number)) return std::nullopt;
  return Mark::of_one_number(newest);
}

std::string initial_image() {
  std::string image(kFileBytes, '\0');
  for (std::size_t slot = 0; slot < kCount; ++slot) {
    image.replace(slot * kStrideBytes, kSlotBytes, encode(slot, Mark()));
  }
  return image;
}

std::optional<Choice> choose(const std::array<std::optional<Mark>, kCount>& marks) {
  if (!marks[0] && !marks[1]) return std::nullopt;
  // A spoiled slot is lower than any mark, so it is the next to be overwritten.
  const auto below = [](const std::optional<Mark>& left, const std::optional<Mark>& right) {
    if (!left || !right) return !left && right;
    return std::pair(left->newest, left->writer) < std::pair(right->newest, right->writer);
  };
  const std::size_t highest = below(marks[0], marks[1]) ? 1 : 0;
  return Choice{*marks[highest], 1 - highest};
}

}  // namespace slots

namespace {

// Advisory locks on bytes that stand for something else.
constexpr off_t kInsideByte = 0;  // being inside the gate
constexpr off_t kSlotsByte = 1;   // reading or writing the slots, so that peek() sees no half write

Failure corrupt(const std::filesystem::path& path, const std::string& how) {
  return {Code::misconfigured,
          "fence " + path.string() + " is corrupt (" + how +
              "), and without it a stale token cannot be told from a current one. Stop everything "
              "that uses the resource, make sure that no holder of an old token is left, then "
              "delete the file: it starts again from 0"};
}

Result<off_t> size_of(const LockFile& file) {
  struct stat status{};
  if (::fstat(file.fd(), &status) != 0) return file_failure("look at", file.path(), errno);
  return status.st_size;
}

Result<std::string> read_slot(const LockFile& file, std::size_t slot) {
  std::string bytes(slots::kSlotBytes, '\0');
  const ssize_t count = ::pread(file.fd(), bytes.data(), bytes.size(),
                                static_cast<off_t>(slot * slots::kStrideBytes));
  if (count < 0) return file_failure("read", file.path(), errno);
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

Result<slots::Choice> read_slots(const LockFile& file) {
  auto size = size_of(file);
  if (!size) return size.failure();
  if (*size != slots::kFileBytes) {
    return corrupt(file.path(), "it has " + std::to_string(*size) + " bytes instead of " +
                                    std::to_string(slots::kFileBytes));
  }
  std::array<std::optional<Mark>, slots::kCount> marks;
  for (std::size_t slot = 0; slot < slots::kCount; ++slot) {
    auto bytes = read_slot(file, slot);
    if (!bytes) return bytes.failure();
    marks[slot] = slots::decode(slot, *bytes);
  }
  const auto choice = slots::choose(marks);
  if (!choice) return corrupt(file.path(), "both of its slots are damaged");
  return *choice;
}

Result<void> write_slot(const LockFile& file, std::size_t slot, const Mark& mark) {
  const std::string bytes = slots::encode(slot, mark);
  if (auto locked = file.lock(kSlotsByte, LockFile::Share::exclusive); !locked) return locked;
  const ssize_t written = ::pwrite(file.fd(), bytes.data(), bytes.size(),
                                   static_cast<off_t>(slot * slots::kStrideBytes));
  const int error = written < 0 ? errno : EIO;
  file.unlock(kSlotsByte);
  if (written != static_cast<ssize_t>(bytes.size())) {
    return file_failure("write", file.path(), error);
  }
  return {};
}

class FileSession final : public MarkSession {
 public:
  FileSession(LockFile file, DurableMark& flushed) : file_(std::move(file)), flushed_(flushed) {}

  Result<Mark> load() override {
    auto found = read_slots(file_);
    if (!found) return found.failure();
    return found->mark;
  }

  Result<void> store(const Mark& mark) override {
    auto found = read_slots(file_);
    if (!found) return found.failure();
    // The mark we found may not be on disk yet. It must be before the other slot is overwritten,
    // or one power cut could tear both, and before anybody relies on it.
    if (auto flushed = flush_unless_known(found->mark); !flushed) return flushed;
    if (mark == found->mark) return {};
    if (auto written = write_slot(file_, found->next_slot, mark); !written) return written;
    if (auto flushed = flush_unless_known(mark); !flushed) return flushed;
    if (mark.newest != found->mark.newest) return {};
    // Only `writer` has risen. A program without modes finds two equal slots and may overwrite
    // either, so both must have it.
    if (auto written = write_slot(file_, 1 - found->next_slot, mark); !written) return written;
    return sync_data(file_.fd(), file_.path());
  }

 private:
  Result<void> flush_unless_known(const Mark& mark) {
    if (flushed_.is(mark)) return {};
    if (auto synced = sync_data(file_.fd(), file_.path()); !synced) return synced;
    flushed_.set(mark);
    return {};
  }

  LockFile file_;
  DurableMark& flushed_;
};

class FileMark final : public MarkStore {
 public:
  explicit FileMark(std::filesystem::path path) : path_(std::move(path)) {}

  // Each session opens the file anew: its lock then excludes our own threads like anybody else's,
  // and nothing stays open that a forked child could inherit.
  Result<std::unique_ptr<MarkSession>> enter() override {
    auto file = LockFile::open_locked(path_, kInsideByte);
    if (!file) return file.failure();
    return std::unique_ptr<MarkSession>(std::make_unique<FileSession>(std::move(*file), flushed_));
  }

  Result<Mark> peek() const override {
    auto file = LockFile::open(path_, O_RDWR);
    if (!file) return file.failure();
    if (auto locked = file->lock(kSlotsByte, LockFile::Share::shared); !locked) {
      return locked.failure();
    }
    auto found = read_slots(*file);
    if (!found) return found.failure();
    return found->mark;
  }

  std::string display() const override { return path_.string(); }

 private:
  std::filesystem::path path_;
  DurableMark flushed_;
};

// Puts the first image in place of an empty file. Locked, so that it happens once: a second image
// could replace a file that has already been raised.
Result<void> initialize(const LockFile& empty) {
  if (auto locked = empty.lock(kInsideByte, LockFile::Share::exclusive); !locked) return locked;
  auto size = size_of(empty);
  if (!size) return size.failure();
  if (*size != 0 || !empty.in_place()) return {};  // somebody else was faster
  return replace_file(empty.path(), with_suffix(empty.path(), ".init"), slots::initial_image());
}

}  // namespace

Result<std::unique_ptr<MarkStore>> open_file_mark(const std::filesystem::path& path) {
  auto whole_path = resolved(path);
  if (!whole_path) return whole_path.failure();
  for (;;) {
    auto file = LockFile::open(*whole_path, O_RDWR | O_CREAT);
    if (!file) return file.failure();
    auto size = size_of(*file);
    if (!size) return size.failure();
    if (*size != 0) break;
    if (auto made = initialize(*file); !made) return made.failure();
  }
  auto store = std::make_unique<FileMark>(*whole_path);
  auto mark = store->peek();
  if (!mark) return mark.failure();
  // The creator of the file may have been killed before its name was on disk. No mark has been
  // written before some gate passed here, so later gates need not flush it again.
  if (*mark == Mark()) {
    if (auto synced = sync_directory_of(*whole_path); !synced) return synced.failure();
  }
  return std::unique_ptr<MarkStore>(std::move(store));
}

}  // namespace holdfast::internal::fence
