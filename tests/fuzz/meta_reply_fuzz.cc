// Bytes from a memcached, cut at any places, through the parser of its replies; then what is read
// from a reply. The first two bytes of an input choose the cuts.
#include <vector>

#include "engines/memcached/reply.h"
#include "engines/memcached/word.h"
#include "fuzz.h"

namespace {

using namespace holdfast;                       // NOLINT(google-build-using-namespace): small
using namespace holdfast::internal::memcached;  // NOLINT(google-build-using-namespace)
using fuzz::must;

bool same(const Reply& a, const Reply& b) {
  return a.status == b.status && a.rest == b.rest && a.value == b.value && a.cut == b.cut;
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
  must(!reply.status.empty(), "a reply has a status");
  must(reply.value.size() <= ReplyParser::kMostValue, "a value is bounded");
  must(reply.value.empty() || reply.is("VA"), "only VA has a value");
  for (const char flag : {'c', 't', 'f'}) static_cast<void>(reply.flag(flag));
  must(sure_time(reply.flag('t')) >= Duration(0), "no time is negative");
  const std::optional<Word> word = Word::parse(reply.value);
  if (!word) return;
  must(!Name::problem_with(word->name), "a word's name is a name");
  const std::optional<Word> again = Word::parse(word->text());
  must(again && again->claim == word->claim && again->token == word->token &&
           again->name == word->name && again->label == word->label,
       "a word that was read can be written and read");
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
