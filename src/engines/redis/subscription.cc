#include "engines/redis/subscription.h"

#include <charconv>

#include "base/random.h"

namespace holdfast::internal::redis {

namespace {

constexpr std::string_view kInvalidations = "__redis__:invalidate";

}  // namespace

std::optional<PushedGrant> parse_pushed_grant(std::string_view text, BootTime proven_at) {
  constexpr std::string_view kGrant = "grant ";
  constexpr std::size_t kHex = ClaimId::kBytes * 2;
  if (!text.starts_with(kGrant) || text.size() < kGrant.size() + kHex + 4) return std::nullopt;
  const std::optional<ClaimId> claim =
      ClaimId::from_hex(std::string(text.substr(kGrant.size(), kHex)));
  if (!claim || text[kGrant.size() + kHex] != ' ') return std::nullopt;
  const char* end = text.data() + text.size();
  std::uint64_t token = 0;
  const auto first = std::from_chars(text.data() + kGrant.size() + kHex + 1, end, token);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
  std::uint32_t ttl_ms = 0;
  const auto second = std::from_chars(first.ptr + 1, end, ttl_ms);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return PushedGrant{*claim, Grant{Token(token), proven_at, std::chrono::milliseconds(ttl_ms)}};
}

Subscription::Subscription(Runtime& runtime, const ConnectionSettings& settings,
                           Connection::Locate where)
    : runtime_(runtime),
      patience_(settings.connect_timeout),
      channel_("holdfast:" + draw_claim_id(runtime).hex()),
      connection_(runtime, settings, std::move(where)),
      subscribed_(runtime),
      background_(runtime) {
  connection_.on_push = [this](const Reply& reply) { on_push(reply); };
  connection_.on_lost = [this] {
    listening_ = false;
    if (on_lost) on_lost();
  };
}

Task<Result<void>> Subscription::listen(Deadline deadline, std::stop_token stop) {
  if (listening()) co_return Result<void>();
  // In the background: whoever asked first may give up first, and a server answers CLIENT ID and
  // PUBLISH only before the first SUBSCRIBE.
  if (!subscribing_) {
    subscribing_ = true;
    subscribed_.reset();
    background_.spawn(subscribe_in_background());
  }
  const Woken woken = co_await subscribed_.wait(deadline, std::move(stop));
  if (woken == Woken::timed_out) {
    co_return Failure(Code::unreachable, "the subscription was not confirmed in time");
  }
  if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
  if (listening()) co_return Result<void>();
  if (!last_try_) co_return last_try_.failure();
  co_return Failure(Code::unreachable, "the connection broke again");
}

Task<void> Subscription::subscribe_in_background() {
  last_try_ = co_await subscribe(Deadline::at(runtime_.now() + patience_));
  if (!last_try_) connection_.drop("the subscription was not confirmed");
  subscribing_ = false;
  subscribed_.set();
}

Task<Result<void>> Subscription::subscribe(Deadline deadline) {
  const Result<void> opened = co_await connection_.open(deadline);
  if (!opened) co_return opened;
  std::vector<std::string> commands;
  commands.push_back(encode({"CLIENT", "ID"}));
  // Nobody hears it; but a user who may not publish would hand locks over without telling.
  commands.push_back(encode({"PUBLISH", channel_, "hello"}));
  commands.push_back(encode({"SUBSCRIBE", channel_}));
  commands.push_back(encode({"SUBSCRIBE", kInvalidations}));
  const std::vector<Result<Answer>> answers =
      co_await connection_.call_all(std::move(commands), deadline);
  const Result<Answer>& published = answers[1];
  const Result<Answer>& subscribed = answers[2];
  if (published && published->reply.is_error()) {
    co_return failure_of(published->reply, endpoint());
  }
  if (!subscribed) co_return Failure(Code::unreachable, subscribed.message());
  if (!connection_.connected() || connection_.generation() != subscribed->generation) {
    co_return Failure(Code::unreachable, "the connection broke again");
  }
  if (subscribed->reply.is_error()) co_return failure_of(subscribed->reply, endpoint());
  // Without the rights to these two, keys of others are looked at again and again instead.
  const bool can_watch =
      answers[0] && !answers[0]->reply.is_error() && answers[3] && !answers[3]->reply.is_error();
  client_id_ = can_watch ? answers[0]->reply.as_number() : 0;
  proven_at_ = subscribed->sent_at;
  listening_ = true;
  co_return Result<void>();
}

Task<bool> Subscription::ping(Deadline deadline) {
  if (!listening()) co_return false;
  std::string command = encode({"PING"});
  const Result<Answer> answer = co_await connection_.call(std::move(command), deadline);
  if (!answer) {
    connection_.drop("no answer to a ping");
    co_return false;
  }
  proven_at_ = std::max(proven_at_, answer->sent_at);
  co_return true;
}

void Subscription::on_push(const Reply& reply) {
  if (reply.at(1).text == kInvalidations) {
    for (const Reply& key : reply.at(2).items) {
      if (on_gone) on_gone(key.text);
    }
    return;
  }
  const std::optional<PushedGrant> pushed = parse_pushed_grant(reply.at(2).text, proven_at_);
  if (pushed && reply.at(1).text == channel_ && on_grant) on_grant(*pushed);
}

}  // namespace holdfast::internal::redis
