#include "engines/redis/lock_view.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace holdfast::internal::redis {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Takes the number at the front of `text`, and the space behind it.
std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return number;
}

std::string_view take_word(std::string_view& text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(std::min(space + 1, text.size()));
  return word;
}

constexpr milliseconds kCentury = std::chrono::hours(24 * 365 * 100);

Duration since(std::int64_t now_us, std::uint64_t then_us) {
  if (now_us < 0 || static_cast<std::uint64_t>(now_us) <= then_us) return Duration(0);
  const std::uint64_t passed_us = static_cast<std::uint64_t>(now_us) - then_us;
  constexpr std::uint64_t kMaxUs = microseconds(kCentury).count();
  return microseconds(std::min(passed_us, kMaxUs));
}

// A moment of the server's clock; one that no clock shows counts as the nearest that one may.
std::int64_t moment_in(const Reply& reply) {
  return std::clamp<std::int64_t>(reply.as_number(), 0, std::int64_t{1} << 53);
}

HolderInfo exclusive_holder(const std::string& word, std::int64_t pttl_ms, Token token,
                            std::int64_t now_us) {
  HolderInfo holder{.label = kForeignLabel};
  if (const std::optional<WordOwner> owner = owner_of(word)) {
    holder.id = owner->id;
    holder.label = owner->label;
    holder.token = token;
    // A token is the clock at its grant, to a millisecond, unless it had to be above one from ahead of the clock.
    const auto now = static_cast<std::uint64_t>(now_us);
    if (token.value() <= now) holder.held_for = since(now_us, token.value());
  }
  if (pttl_ms >= 0) holder.expires_in = ttl_of_ms(pttl_ms);
  return holder;
}

// [claim, expiry_ms, claim, expiry_ms, …] with "TOKEN SINCE_US LABEL" by claim.
std::vector<HolderInfo> group_holders(const Reply& members, const Reply& holds, Mode mode,
                                      std::int64_t now_us) {
  std::map<std::string_view, std::string_view> details;
  for (std::size_t i = 0; i + 1 < holds.items.size(); i += 2) {
    details[holds.items[i].text] = holds.items[i + 1].text;
  }
  std::vector<HolderInfo> holders;
  for (std::size_t i = 0; i + 1 < members.items.size(); i += 2) {
    const std::optional<ClaimId> id = ClaimId::from_hex(members.items[i].text);
    const auto found = details.find(members.items[i].text);
    if (!id || found == details.end()) continue;
    std::string_view text = found->second;
    HolderInfo holder{.id = *id, .mode = mode};
    holder.token = Token(take_number(text));
    holder.held_for = since(now_us, take_number(text));
    holder.label = text;
    holder.expires_in = ttl_of_ms(moment_in(members.items[i + 1]) - now_us / 1000);
    holders.push_back(std::move(holder));
  }
  std::sort(holders.begin(), holders.end(),
            [](const HolderInfo& a, const HolderInfo& b) { return a.token < b.token; });
  return holders;
}

// [member, since_us, …] with "CLAIM MODE PERMITS TTL_MS CHANNEL LABEL" as member.
std::vector<WaiterInfo> waiters_in(const Reply& queue, std::int64_t now_us) {
  std::vector<WaiterInfo> waiters;
  for (std::size_t i = 0; i + 1 < queue.items.size(); i += 2) {
    std::string_view text = queue.items[i].text;
    const std::optional<ClaimId> id = ClaimId::from_hex(take_word(text));
    if (!id) continue;
    WaiterInfo waiter{.id = *id};
    const std::string_view mode = take_word(text);
    waiter.mode = mode == "x" ? Mode::exclusive : mode == "s" ? Mode::shared : Mode::permit;
    for (int skipped = 0; skipped < 3; ++skipped) take_word(text);
    waiter.label = text;
    std::string_view came = queue.items[i + 1].text;
    waiter.waited_for = since(now_us, take_number(came));
    waiters.push_back(std::move(waiter));
  }
  return waiters;
}

}  // namespace

std::optional<WordOwner> owner_of(std::string_view word) {
  constexpr std::size_t kHex = ClaimId::kBytes * 2;
  if (word.size() <= kHex || word[kHex] != ' ') return std::nullopt;
  const std::optional<ClaimId> id = ClaimId::from_hex(word.substr(0, kHex));
  if (!id) return std::nullopt;
  return WordOwner{*id, std::string(word.substr(kHex + 1))};
}

Duration ttl_of_ms(std::int64_t span_ms) {
  return milliseconds(std::clamp(span_ms, -kCentury.count(), kCentury.count()));
}

LockInfo lock_info(const Name& name, const Reply& reply) {
  const std::string& word = reply.at(0).text;
  const std::int64_t now_us = moment_in(reply.at(6));
  const auto last = static_cast<std::uint64_t>(std::max<std::int64_t>(reply.at(2).as_number(), 0));
  LockInfo info{.name = name, .last_token = Token(last)};
  if (word.starts_with(kGroupWord)) {
    constexpr std::string_view kPermits = "holdfast:permits ";
    const bool permits = word.starts_with(kPermits);
    if (permits) {
      std::string_view number = std::string_view(word).substr(kPermits.size());
      info.permits = static_cast<std::uint32_t>(take_number(number));
    }
    info.holders =
        group_holders(reply.at(3), reply.at(4), permits ? Mode::permit : Mode::shared, now_us);
  } else if (reply.at(0).kind == Reply::Kind::bulk) {
    info.holders.push_back(
        exclusive_holder(word, reply.at(1).as_number(), info.last_token, now_us));
  }
  info.waiters = waiters_in(reply.at(5), now_us);
  return info;
}

}  // namespace holdfast::internal::redis
