// Protocol Buffers' wire format, as much of it as a handful of small messages needs: a message is a
// row of fields, each with a number and either a whole number or bytes. The reader never reads
// beyond its bytes and never trusts a length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::internal {

class ProtoWriter {
 public:
  // Zero and empty are what an absent field means; they are left out.
  ProtoWriter& number(int field, std::int64_t value);
  ProtoWriter& bytes(int field, std::string_view value);
  // A message within, or one case of a choice: written even if it is empty.
  ProtoWriter& message(int field, std::string_view encoded);

  std::string take() { return std::move(out_); }

 private:
  void varint(std::uint64_t value);

  std::string out_;
};

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}

  // Goes to the next field. False at the end, and at the first byte that makes no sense.
  bool next();
  // True if all that was read made sense.
  bool sound() const { return sound_; }

  int field() const { return field_; }
  // The field's value; 0 or empty if it is of the other kind.
  std::int64_t number() const { return static_cast<std::int64_t>(number_); }
  bool truth() const { return number_ != 0; }
  std::string_view bytes() const { return bytes_; }

 private:
  bool varint(std::uint64_t& value);
  bool skip(std::size_t size);
  bool fail();

  std::string_view rest_;
  bool sound_ = true;
  int field_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace holdfast::internal
