// Bytes from a memcached, cut at any places, through the parser of its replies; then what is read
// from a reply. The first two bytes of an input choose the cuts.
#include "engines/memcached/reply.h"
#include "engines/memcached/word.h"
#include "replies.h"

namespace {

using namespace holdfast;                       // NOLINT(google-build-using-namespace): small
using namespace holdfast::internal::memcached;  // NOLINT(google-build-using-namespace)
using fuzz::must;

bool same(const Reply& a, const Reply& b) {
  return a.status == b.status && a.rest == b.rest && a.value == b.value && a.cut == b.cut;
}

void read_all_of(const Reply& reply) {
  must(!reply.status.empty(), "a reply has a status");
  must(reply.value.size() <= ReplyParser::kMaxValue, "a value is bounded");
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
  fuzz::parse_whole_and_cut<ReplyParser, Reply>(data, size, same, read_all_of);
  return 0;
}
