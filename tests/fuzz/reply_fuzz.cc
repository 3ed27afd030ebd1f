// Bytes from a server, cut at any places, through the parser of replies; then what is read from a
// reply. The first two bytes of an input choose the cuts.
#include <vector>

#include "engines/redis/connection.h"
#include "engines/redis/keys.h"
#include "engines/redis/lock_view.h"
#include "engines/redis/subscription.h"
#include "fuzz.h"

namespace {

using namespace holdfast;                   // NOLINT(google-build-using-namespace): a small program
using namespace holdfast::internal::redis;  // NOLINT(google-build-using-namespace)
using fuzz::must;

bool same(const Reply& a, const Reply& b) {
  if (a.kind != b.kind || a.number != b.number || a.text != b.text) return false;
  if (a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  return true;
}

struct Parsed {
  std::vector<Reply> replies;
  bool sound = true;
};

// In pieces of 1 to `longest` bytes, drawn from `seed`; in one piece if `longest` is 0.
Parsed parse(std::string_view bytes, std::size_t longest, std::uint32_t seed) {
  Parsed parsed;
  ReplyParser parser;
  std::string problem;
  while (!bytes.empty() && parsed.sound) {
    seed = seed * 1664525 + 1013904223;
    const std::string_view front =
        longest == 0 ? bytes : bytes.substr(0, 1 + (seed >> 8) % longest);
    const std::vector<char> piece(front.begin(), front.end());  // a byte too far is seen
    bytes.remove_prefix(piece.size());
    parsed.sound = parser.feed(
        {piece.data(), piece.size()},
        [&](Reply reply) { parsed.replies.push_back(std::move(reply)); }, problem);
  }
  must(parsed.sound || !problem.empty(), "who refuses says why");
  return parsed;
}

void read_all_of(const Reply& reply) {
  static_cast<void>(lock_info("a name", reply));
  static_cast<void>(owner_of(reply.text));
  static_cast<void>(failure_of(reply, internal::Endpoint{.host = "h", .port = 1}));
  static_cast<void>(slot_of(reply.text));
  const BootTime proven_at{std::chrono::seconds(5)};
  const auto pushed = parse_pushed_grant(reply.text, proven_at);
  must(!pushed || pushed->grant.counted_from == proven_at, "a push does not choose its own time");
  if (const auto name = name_of_token_key(reply.text)) {
    must(sibling_key(*name, 't') != reply.text || slot_of(*name) == slot_of(reply.text),
         "a lock's keys share a slot", reply.text);
  }
  if (!reply.text.empty()) {
    for (const char letter : {'f', 'x'}) {
      must(slot_of(sibling_key(reply.text, letter)) == slot_of(reply.text), "so do a fence's");
    }
  }
  for (const Reply& item : reply.items) read_all_of(item);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes = fuzz::text_of(data + 2, size - 2);
  const Parsed whole = parse(bytes, 0, 0);
  const Parsed cut = parse(bytes, std::size_t{1} + data[0] % 32, data[1]);
  must(whole.sound == cut.sound, "cuts do not decide what is the protocol");
  must(whole.replies.size() == cut.replies.size(), "cuts do not decide how many replies there are");
  for (std::size_t i = 0; i < whole.replies.size(); ++i) {
    must(same(whole.replies[i], cut.replies[i]), "cuts do not decide what a reply is");
    read_all_of(whole.replies[i]);
  }
  return 0;
}
