#include "wire/protobuf.h"

namespace holdfast::internal {

namespace {

// How a field is written.
enum : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

}  // namespace

void ProtoWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    out_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out_ += static_cast<char>(value);
}

ProtoWriter& ProtoWriter::number(int field, std::int64_t value) {
  if (value == 0) return *this;
  varint(static_cast<std::uint64_t>(field) << 3 | kVarint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::bytes(int field, std::string_view value) {
  return value.empty() ? *this : message(field, value);
}

ProtoWriter& ProtoWriter::message(int field, std::string_view encoded) {
  varint(static_cast<std::uint64_t>(field) << 3 | kBytes);
  varint(encoded.size());
  out_ += encoded;
  return *this;
}

bool ProtoReader::fail() {
  sound_ = false;
  rest_ = {};
  return false;
}

bool ProtoReader::varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return fail();
}

bool ProtoReader::skip(std::size_t size) {
  if (rest_.size() < size) return fail();
  rest_.remove_prefix(size);
  return true;
}

bool ProtoReader::next() {
  number_ = 0;
  bytes_ = {};
  if (rest_.empty()) return false;
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  field_ = static_cast<int>(tag >> 3 & 0x1fffffff);
  if (field_ == 0) return fail();
  switch (tag & 7) {
    case kVarint: return varint(number_);
    case kFixed64: return skip(8);
    case kFixed32: return skip(4);
    case kBytes: {
      std::uint64_t size = 0;
      if (!varint(size)) return false;
      if (size > rest_.size()) return fail();
      bytes_ = rest_.substr(0, static_cast<std::size_t>(size));
      return skip(bytes_.size());
    }
    default: return fail();  // groups, which are no longer written
  }
}

}  // namespace holdfast::internal
