#include "engines/redis/subscription.h"

#include <charconv>

#include "base/random.h"
#include "engines/redis/facts.h"

namespace holdfast::internal::redis {

namespace {

constexpr std::string_view kInvalidations = "__redis__:invalidate";

// INFO is not asked for more than this.
ConnectionSettings with_server_info(ConnectionSettings settings) {
  settings.info = "server";
  return settings;
}

}  // namespace

std::optional<ClaimId> parse_pushed_look(std::string_view text) {
  constexpr std::string_view kLook = "look ";
  if (!text.starts_with(kLook)) return std::nullopt;
  return ClaimId::from_hex(std::string(text.substr(kLook.size())));
}

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
                           Connection::Locate where, bool channel_per_run)
    : runtime_(runtime),
      patience_(settings.connect_timeout),
      base_channel_("holdfast:" + draw_claim_id(runtime).hex()),
      channel_(base_channel_),
      connection_(runtime, with_server_info(settings), std::move(where)),
      subscribed_(runtime),
      background_(runtime) {
  connection_.on_push = [this](const Reply& reply) { on_push(reply); };
  if (channel_per_run) {
    connection_.on_info = [this](const std::string& info) { on_server_info(info); };
  }
  connection_.on_lost = [this] {
    listening_ = false;
    tags_.clear();
    if (on_lost) on_lost();
  };
}

Task<Result<void>> Subscription::listen(Deadline deadline, std::stop_token stop, std::string tag) {
  if (listening(tag)) co_return Result<void>();
  if (listening()) co_return co_await add_tag(std::move(tag), deadline, std::move(stop));
  // In the background: whoever asked first may give up first, and a server answers CLIENT ID and
  // PUBLISH only before the first SUBSCRIBE.
  if (!subscribing_) {
    subscribing_ = true;
    subscribed_.reset();
    background_.spawn(subscribe_in_background());
  }
  const Woken woken = co_await subscribed_.wait(deadline, stop);
  if (woken == Woken::timed_out) {
    co_return Failure(Code::unreachable, "the subscription was not confirmed in time");
  }
  if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
  if (listening(tag)) co_return Result<void>();
  if (listening()) co_return co_await add_tag(std::move(tag), deadline, std::move(stop));
  if (!last_try_) co_return last_try_.failure();
  co_return Failure(Code::unreachable, "the connection broke again");
}

Task<Result<void>> Subscription::add_tag(std::string tag, Deadline deadline, std::stop_token stop) {
  const std::uint64_t generation = connection_.generation();
  std::string command = encode({"SUBSCRIBE", channel(tag)});
  const Result<Answer> answer =
      co_await connection_.call(std::move(command), deadline, std::move(stop));
  if (!answer) co_return Failure(Code::unreachable, answer.message());
  if (answer->reply.is_error()) co_return connection_.refused(answer->reply);
  if (!listening() || connection_.generation() != generation) {
    co_return Failure(Code::unreachable, "the connection broke again");
  }
  tags_.insert(std::move(tag));
  co_return Result<void>();
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
    co_return connection_.refused(published->reply);
  }
  if (!subscribed) co_return Failure(Code::unreachable, subscribed.message());
  if (!connection_.connected() || connection_.generation() != subscribed->generation) {
    co_return Failure(Code::unreachable, "the connection broke again");
  }
  if (subscribed->reply.is_error()) co_return connection_.refused(subscribed->reply);
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

void Subscription::on_server_info(const std::string& info) {
  constexpr std::size_t kEnough = 8;  // as the scripts take of it
  const std::string run = info_field(info, "run_id").substr(0, kEnough);
  const std::string text = info_field(info, "uptime_in_seconds");
  std::uint32_t uptime_s = 0;
  const auto uptime = std::from_chars(text.data(), text.data() + text.size(), uptime_s);
  const bool hex = run.find_first_not_of("0123456789abcdef") == std::string::npos;
  std::string channel = base_channel_;
  if (run.size() == kEnough && hex) channel.append(":").append(run);
  if (channel_ == channel) return;
  const bool again = channel_ != base_channel_;
  channel_ = std::move(channel);
  server_began_again_.reset();
  if (again && uptime.ec == std::errc()) {
    server_began_again_ = runtime_.now() - std::chrono::seconds(uptime_s);
  }
}

void Subscription::on_push(const Reply& reply) {
  if (reply.at(1).text == kInvalidations) {
    for (const Reply& key : reply.at(2).items) {
      if (on_gone) on_gone(key.text);
    }
    return;
  }
  const std::string& heard_on = reply.at(1).text;
  if (heard_on != channel_ && !heard_on.starts_with(channel_ + ":{")) return;
  const std::string& text = reply.at(2).text;
  if (const auto pushed = parse_pushed_grant(text, proven_at_); pushed && on_grant) {
    on_grant(*pushed);
  } else if (const auto claim = parse_pushed_look(text); claim && on_look) {
    on_look(*claim);
  }
}

}  // namespace holdfast::internal::redis
