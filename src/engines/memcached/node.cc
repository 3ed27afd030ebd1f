#include "engines/memcached/node.h"

#include <algorithm>
#include <charconv>

#include "base/require.h"
#include "engines/memcached/dump.h"

namespace holdfast::internal::memcached {

namespace {

// How often to look again at a word that others keep changing.
constexpr int kMaxRounds = 16;

std::string look_command(const std::string& key) { return "mg " + key + " v t c\r\n"; }

// Stores the word, and looks what stands there then: two replies. Not by `ms`: where memory is short,
// that one deletes what stands there, be it another's (memcached 1.6.18). With a cas it is a
// compare, without one an addition.
void add_store(std::string& commands, const Keys& keys, const Word& word, const ItemTtl& ttl,
               std::optional<std::uint64_t> cas) {
  const std::string text = word.text();
  commands.append(cas ? "cas " : "add ").append(keys.word);
  commands.append(" ").append(std::to_string(kWordFlags));
  commands.append(" ").append(std::to_string(ttl.seconds));
  commands.append(" ").append(std::to_string(text.size()));
  if (cas) commands.append(" ").append(std::to_string(*cas));
  commands.append("\r\n").append(text).append("\r\n");
  commands += look_command(keys.word);
}

}  // namespace

Word word_of(const Claim& claim, Token token, WallTime now) {
  constexpr std::size_t kMaxLabel = 512;
  return Word{claim.id, token, now.time_since_epoch().count(), claim.name.bytes(),
              claim.label.substr(0, kMaxLabel)};
}

HolderInfo holder_info(const Sight& seen, WallTime now) {
  HOLDFAST_REQUIRE(seen.present);
  if (!seen.word) return HolderInfo{.label = kForeignLabel, .expires_in = seen.left};
  const auto held_us = now.time_since_epoch().count() - seen.word->since_us;
  return HolderInfo{.id = seen.word->claim,
                    .token = seen.word->token,
                    .label = seen.word->label,
                    .held_for = std::chrono::microseconds(std::max<std::int64_t>(held_us, 0)),
                    .expires_in = seen.left};
}

Node::Node(Runtime& runtime, const Settings& settings)
    : runtime_(runtime), settings_(settings), connection_(runtime, settings) {}

// ---- Tokens ------------------------------------------------------------------------------------

// A counter that is not there (never used, evicted, flushed, restarted) begins at the clock, in
// microseconds: nobody draws a million tokens a second, so it begins above what it was. Our own
// clock may have been set back since we last drew one.
std::string Node::draw_command(const Keys& keys) const {
  const auto clock = static_cast<std::uint64_t>(runtime_.wall().time_since_epoch().count());
  const std::uint64_t seed = std::max(clock, highest_.value() + 1);
  return "ma " + keys.token + " N0 J" + std::to_string(seed) + " D1 v\r\n";
}

Result<Token> Node::drawn(const Reply& reply) {
  if (!reply.is("VA")) return connection_.failure_of(reply);
  std::uint64_t number = 0;
  const char* const end = reply.value.data() + reply.value.size();
  const auto parsed = std::from_chars(reply.value.data(), end, number);
  // (Old counters can have spaces behind them.)
  if (parsed.ec != std::errc() || number == 0) return connection_.failure_of(reply);
  highest_ = std::max(highest_, Token(number));
  return Token(number);
}

Task<Result<Token>> Node::draw(const Keys& keys, Deadline deadline) {
  const Result<Answers> answers = co_await connection_.call(draw_command(keys), 1, deadline);
  if (!answers) co_return answers.failure();
  co_return drawn(answers->replies[0]);
}

Task<Result<Token>> Node::last_token(const Keys& keys, Deadline deadline) {
  std::string command = "mg " + keys.token + " v\r\n";
  const Result<Answers> answers = co_await connection_.call(std::move(command), 1, deadline);
  if (!answers) co_return answers.failure();
  const Reply& reply = answers->replies[0];
  if (reply.is("EN")) co_return Token();
  if (!reply.is("VA")) co_return connection_.failure_of(reply);
  std::uint64_t number = 0;
  std::from_chars(reply.value.data(), reply.value.data() + reply.value.size(), number);
  co_return Token(number);
}

// ---- Taking and looking ------------------------------------------------------------------------

Result<Sight> Node::sight(const Reply& reply, const Answers& answers) {
  Sight seen;
  seen.sent_at = answers.sent_at;
  if (reply.is("EN")) return seen;
  const std::optional<std::uint64_t> cas = reply.flag('c');
  if (!reply.is("VA") || !cas) return connection_.failure_of(reply);
  seen.present = true;
  if (!reply.cut) seen.word = Word::parse(reply.value);
  seen.stamp = {*cas, answers.generation};
  if (const auto left = reply.flag('t')) seen.left = sure_time(left);
  return seen;
}

Task<Result<Taking>> Node::take(const Keys& keys, const Word& word, ItemTtl ttl, bool draw,
                                Deadline deadline, std::stop_token stop) {
  std::string commands;
  add_store(commands, keys, word, ttl, std::nullopt);
  if (draw) commands += draw_command(keys);
  const std::size_t count = draw ? 3 : 2;
  const Result<Answers> answers =
      co_await connection_.call(std::move(commands), count, deadline, std::move(stop));
  if (!answers) co_return answers.failure();
  const Reply& stored = answers->replies[0];
  const bool taken = stored.is("STORED");
  if (!taken && !stored.is("NOT_STORED")) co_return connection_.failure_of(stored);
  Result<Sight> seen = sight(answers->replies[1], *answers);
  if (!seen) co_return seen.failure();
  Taking taking{.seen = std::move(seen).value(), .sent_at = answers->sent_at};
  // (Not ours any more: evicted, or taken away, between the two commands.)
  if (!taken || !taking.seen.of(word.claim)) co_return taking;
  taking.stamp = taking.seen.stamp;
  if (draw) {
    const Result<Token> token = drawn(answers->replies[2]);
    if (token) {
      taking.token = *token;
    } else {
      taking.no_token = token.failure();
    }
  }
  co_return taking;
}

Task<Result<Sight>> Node::look(const Keys& keys, Deadline deadline, std::stop_token stop) {
  const Result<Answers> answers =
      co_await connection_.call(look_command(keys.word), 1, deadline, std::move(stop));
  if (!answers) co_return answers.failure();
  co_return sight(answers->replies[0], *answers);
}

Task<Result<Sight>> Node::look_for_token(const Keys& keys, Deadline deadline,
                                         std::stop_token stop) {
  // A holder that died before it recorded its token never will.
  constexpr Duration kPatience = std::chrono::milliseconds(50);
  constexpr Duration kPause = std::chrono::milliseconds(2);
  const BootTime limit = runtime_.now() + kPatience;
  for (;;) {
    Result<Sight> seen = co_await look(keys, deadline, stop);
    if (!seen || !seen->word || seen->word->token != Token()) co_return seen;
    const BootTime again = runtime_.now() + kPause;
    if (again > limit || deadline.passed(again)) co_return seen;
    if (co_await sleep_until(runtime_, again, stop) == Woken::cancelled) co_return seen;
  }
}

// ---- Changing ----------------------------------------------------------------------------------

Result<Change> Node::change(const ClaimId& claim, const Answers& answers, std::size_t at) {
  const Reply& reply = answers.replies[at];
  Change change{.sent_at = answers.sent_at};
  if (reply.is("EXISTS")) return change.verdict = Verdict::changed, change;
  if (reply.is("NOT_FOUND")) return change.verdict = Verdict::gone, change;
  if (!reply.is("STORED")) return connection_.failure_of(reply);
  const Result<Sight> seen = sight(answers.replies[at + 1], answers);
  if (!seen) return seen.failure();
  // (Evicted, or taken away, between the two commands.)
  if (!seen->of(claim)) return change.verdict = Verdict::changed, change;
  change.verdict = Verdict::done;
  change.stamp = seen->stamp;
  return change;
}

Task<Result<Change>> Node::replace(Replacement what, Deadline deadline) {
  // Nothing is awaited between this and the write: it is the same connection.
  if (!fresh(what.stamp)) co_return Change();
  std::string command;
  const ClaimId claim = what.word->claim;
  add_store(command, *what.keys, *what.word, what.ttl, what.stamp.cas);
  const Result<Answers> answers = co_await connection_.call(std::move(command), 2, deadline);
  if (!answers) co_return answers.failure();
  co_return change(claim, *answers, 0);
}

Task<std::vector<Result<Change>>> Node::replace_all(const std::vector<Replacement>& all,
                                                    Deadline deadline) {
  std::vector<Result<Change>> outcomes(all.size(), Change());
  std::string commands;
  std::vector<std::size_t> sent;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!fresh(all[i].stamp)) continue;
    sent.push_back(i);
    add_store(commands, *all[i].keys, *all[i].word, all[i].ttl, all[i].stamp.cas);
  }
  if (sent.empty()) co_return outcomes;
  const Result<Answers> answers =
      co_await connection_.call(std::move(commands), 2 * sent.size(), deadline);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (answers) {
      outcomes[sent[i]] = change(all[sent[i]].word->claim, *answers, 2 * i);
    } else {
      outcomes[sent[i]] = answers.failure();
    }
  }
  co_return outcomes;
}

Task<Result<Verdict>> Node::remove(const Keys& keys, Stamp stamp, Deadline deadline) {
  if (!fresh(stamp)) co_return Verdict::stale;
  std::string command = "md " + keys.word + " C" + std::to_string(stamp.cas) + "\r\n";
  const Result<Answers> answers = co_await connection_.call(std::move(command), 1, deadline);
  if (!answers) co_return answers.failure();
  const Reply& reply = answers->replies[0];
  if (reply.is("HD")) co_return Verdict::done;
  if (reply.is("EX")) co_return Verdict::changed;
  if (reply.is("NF")) co_return Verdict::gone;
  co_return connection_.failure_of(reply);
}

// ---- By claim ----------------------------------------------------------------------------------

Task<Result<Kept>> Node::renew(const Keys& keys, Word word, ItemTtl ttl, std::optional<Stamp> stamp,
                               Deadline deadline) {
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!stamp || !fresh(*stamp)) {
      const Result<Sight> seen = co_await look(keys, deadline);
      if (!seen) co_return seen.failure();
      if (!seen->of(word.claim)) co_return Kept{};
      stamp = seen->stamp;
      word.since_us = seen->word->since_us;
      if (word.token == Token()) word.token = seen->word->token;
    }
    const Replacement what{&keys, &word, ttl, *stamp};
    const Result<Change> changed = co_await replace(what, deadline);
    if (!changed) co_return changed.failure();
    if (changed->verdict == Verdict::gone) co_return Kept{};
    if (changed->verdict == Verdict::done) {
      co_return Kept{true, changed->stamp, word.token, changed->sent_at};
    }
    stamp.reset();
  }
  co_return connection_.failed(Code::unreachable, "the lock's word changes all the time");
}

Task<Result<bool>> Node::release(const Keys& keys, ClaimId claim, std::optional<Stamp> stamp,
                                 Deadline deadline) {
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!stamp || !fresh(*stamp)) {
      const Result<Sight> seen = co_await look(keys, deadline);
      if (!seen) co_return seen.failure();
      if (!seen->of(claim)) co_return false;
      stamp = seen->stamp;
    }
    const Result<Verdict> removed = co_await remove(keys, *stamp, deadline);
    if (!removed) co_return removed.failure();
    if (*removed == Verdict::done) co_return true;
    if (*removed == Verdict::gone) co_return false;
    stamp.reset();
  }
  co_return connection_.failed(Code::unreachable, "the lock's word changes all the time");
}

Task<Result<bool>> Node::evict(const Keys& keys, Token token, Deadline deadline) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const Result<Sight> seen = co_await look_for_token(keys, deadline);
    if (!seen) co_return seen.failure();
    if (!seen->word || seen->word->token != token) co_return false;
    const Result<Verdict> removed = co_await remove(keys, seen->stamp, deadline);
    if (!removed) co_return removed.failure();
    if (*removed == Verdict::done) co_return true;
    if (*removed == Verdict::gone) co_return false;
  }
  co_return connection_.failed(Code::unreachable, "the lock's word changes all the time");
}

// ---- Listing -----------------------------------------------------------------------------------

Task<Result<std::vector<Sight>>> Node::list(const std::string& prefix,
                                            const std::string& name_prefix, Deadline deadline) {
  // Enough to hide the way to the server, and little enough for its buffers and ours.
  constexpr std::size_t kPart = 200;
  const auto wanted = [&](std::string_view key) {
    if (!key.starts_with(prefix) || key.ends_with(kTokenSuffix)) return false;
    key.remove_prefix(prefix.size());
    return key.starts_with(name_prefix) || key.starts_with(kHashedKey);
  };
  Result<std::vector<std::string>> keys =
      co_await dump_keys(runtime_, settings_.endpoint, wanted, deadline);
  if (!keys) co_return connection_.failed(keys.code(), keys.message());
  std::vector<Sight> words;
  for (std::size_t begin = 0; begin < keys->size(); begin += kPart) {
    const std::size_t end = std::min(begin + kPart, keys->size());
    // The flags first: the items of others can be large.
    std::string commands;
    for (std::size_t i = begin; i < end; ++i) commands += "mg " + (*keys)[i] + " f\r\n";
    const Result<Answers> flags =
        co_await connection_.call(std::move(commands), end - begin, deadline);
    if (!flags) co_return flags.failure();
    std::string looks;
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (flags->replies[i - begin].flag('f') != kWordFlags) continue;
      looks += look_command((*keys)[i]);
      ++count;
    }
    if (count == 0) continue;
    const Result<Answers> answers = co_await connection_.call(std::move(looks), count, deadline);
    if (!answers) co_return answers.failure();
    for (const Reply& reply : answers->replies) {
      Result<Sight> seen = sight(reply, *answers);
      if (!seen) co_return seen.failure();
      if (seen->word && seen->word->name.starts_with(name_prefix)) {
        words.push_back(std::move(seen).value());
      }
    }
  }
  co_return words;
}

}  // namespace holdfast::internal::memcached
