// A mark in a small file of its own. Layout, integers little-endian:
//
//   offset 0       slot 0:   8 bytes "HFfence1" | 8 newest | 8 checksum of these 16
//                          | 8 writer | 8 checksum of the 32 bytes before it | unused
//   offset 4096    slot 1:   the same
//   8192           end
//
// The first 24 bytes are all that programs without modes know. They overwrite these alone, and the
// second checksum no longer fits: `writer` does not count then, and is `newest`. A write that is
// torn between the two parts looks the same, and so readers that are not the newest may be refused
// after it: the safe side.
//
// The mark is the higher of the valid slots, by `newest` and then by `writer`. A higher one is
// written over the lower slot and flushed, so a torn write spoils only the slot that did not count
// yet; the slots lie in different blocks, so that no disk writes both at once. (Decay is another
// matter: if the newer slot rots later on, the mark falls back to the older one.)
//
// The file is either empty, which is how it is born and means 0, or whole: the first image is put
// in place by rename. Anything else is corrupt, and an error rather than 0.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fence/mark_store.h"

namespace holdfast::internal::fence {

// The pure half: marks to bytes and back.
namespace slots {

inline constexpr std::size_t kCount = 2;
inline constexpr std::size_t kStrideBytes = 4096;
inline constexpr std::size_t kFileBytes = kCount * kStrideBytes;
inline constexpr std::size_t kOneNumberBytes = 24;  // what programs without modes read and write
inline constexpr std::size_t kSlotBytes = 40;

std::string encode(std::size_t slot, const Mark& mark);
// Nothing if the bytes are not a whole slot, or not the slot with that number.
std::optional<Mark> decode(std::size_t slot, std::string_view bytes);

// The contents of a file that has never seen a token.
std::string initial_image();

// Which slot counts, and which is to be overwritten by the next mark.
struct Choice {
  Mark mark;
  std::size_t next_slot;
};
// Nothing if neither slot is valid.
std::optional<Choice> choose(const std::array<std::optional<Mark>, kCount>& marks);

}  // namespace slots

// Creates the file if need be. misconfigured if it is corrupt.
Result<std::unique_ptr<MarkStore>> open_file_mark(const std::filesystem::path& path);

}  // namespace holdfast::internal::fence
