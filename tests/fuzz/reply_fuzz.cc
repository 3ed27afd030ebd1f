// Bytes from a server, cut at any places, through the parser of replies; then what is read from a
// reply. The first two bytes of an input choose the cuts.
#include "engines/redis/connection.h"
#include "engines/redis/keys.h"
#include "engines/redis/lock_view.h"
#include "engines/redis/subscription.h"
#include "replies.h"

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
  fuzz::parse_whole_and_cut<ReplyParser, Reply>(data, size, same, read_all_of);
  return 0;
}
