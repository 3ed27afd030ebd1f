// Bytes from an etcd through the decoders of its messages; then what is read from a key and its
// value. The first byte of an input chooses the message.
#include "engines/etcd/keys.h"
#include "engines/etcd/messages.h"
#include "engines/etcd/queue.h"
#include "fuzz.h"

namespace {

using namespace holdfast;                  // NOLINT(google-build-using-namespace): small
using namespace holdfast::internal::etcd;  // NOLINT(google-build-using-namespace)
using fuzz::must;

void read_pair(const Keys& keys, const KeyValue& pair) {
  const Entry entry = entry_of(keys, pair);
  must(!entry.foreign || entry.mode == Mode::exclusive, "what is not ours is exclusive");
  must(entry.note.ttl >= Duration(0), "no time is negative");
  static_cast<void>(entry.label());
  if (const std::optional<Note> note = Note::parse(pair.value)) {
    const std::optional<Note> again = Note::parse(note->encode());
    must(again && again->granted == note->granted && again->ttl == note->ttl &&
             again->since == note->since && again->label == note->label,
         "a note that was read can be written and read");
  }
  if (const std::optional<Name> name = name_of("", pair.key)) {
    must(pair.key.starts_with(escaped_name(name->bytes()) + "/"), "a name leads to its keys");
  }
}

void judge(const Keys& keys, const TxnAnswer& answer) {
  for (const Mode mode : {Mode::exclusive, Mode::shared, Mode::permit}) {
    const Claim claim{
        .name = "x", .id = ClaimId({1}), .mode = mode, .permits = 2, .ttl = {}, .label = {}};
    Position position = position_of(keys, claim, answer);
    must(position.state != Position::State::waits || position.created == 0 ||
             !position.predecessors.empty(),
         "who waits, waits for somebody");
    for (Predecessor& key : position.predecessors) {
      for (const RangeAnswer& part : answer.parts) {
        for (const KeyValue& pair : part.pairs) {
          const WatchEvent event{.removed = pair.lease % 2 == 0, .pair = pair};
          static_cast<void>(effect_of(key, keys, claim, event));
        }
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  const Keys keys("", Name("x"));
  switch (data[0] % 6) {
    case 0:
      if (const auto answer = decode_txn(bytes)) {
        for (const RangeAnswer& part : answer->parts) {
          for (const KeyValue& pair : part.pairs) read_pair(keys, pair);
        }
        judge(keys, *answer);
      }
      break;
    case 1:
      if (const auto answer = decode_range(bytes)) {
        for (const KeyValue& pair : answer->pairs) read_pair(keys, pair);
      }
      break;
    case 2:
      if (const auto answer = decode_watch(bytes)) {
        for (const WatchEvent& event : answer->events) read_pair(keys, event.pair);
      }
      break;
    case 3: static_cast<void>(decode_lease(bytes)); break;
    case 4:
      if (const auto removed = decode_remove(bytes)) {
        for (const KeyValue& pair : *removed) read_pair(keys, pair);
      }
      break;
    default: static_cast<void>(decode_authenticate(bytes)); break;
  }
  return 0;
}
