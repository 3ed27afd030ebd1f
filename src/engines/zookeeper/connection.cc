#include "engines/zookeeper/connection.h"

#include <algorithm>

#include "base/require.h"

namespace holdfast::internal::zookeeper {

Connection::~Connection() { break_calls("it was closed"); }

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<Connection::Opened>> Connection::open(std::shared_ptr<const TlsContext> tls,
                                                  Greeting greeting, std::string login,
                                                  Deadline deadline) {
  const bool plain = !tls;
  Result<std::unique_ptr<Stream>> stream =
      co_await Stream::connect(runtime_, endpoint_, std::move(tls), *this, deadline);
  if (!stream) co_return stream.failure();
  reached_ = true;
  const auto unreachable = [](const std::string& why) { return Failure(Code::unreachable, why); };
  if (closed_) co_return unreachable(why_closed_);
  stream_ = std::move(stream).value();
  Opened opened{{}, runtime_.now()};
  stream_->send(encode(greeting) + login);
  while (!welcome_ && !closed_) {
    const Woken woken = co_await moved_.wait(deadline);
    moved_.reset();
    if (woken != Woken::signalled) co_return unreachable("no answer in time");
  }
  if (!welcome_) {
    co_return unreachable(why_closed_ + (plain ? "; is it in the minority, does it know too "
                                                 "little, or does it want TLS (zookeeper+tls://)?"
                                               : "; is it in the minority, or does it know too "
                                                 "little?"));
  }
  // After "your session is over" it closes: that is no failure of the connection.
  if (closed_ && welcome_->timeout_ms > 0) co_return unreachable(why_closed_);
  opened.welcome = *welcome_;
  open_ = !closed_;
  last_sent_ = opened.sent_at;
  co_return opened;
}

// ---- Calling -----------------------------------------------------------------------------------

Task<Result<Answers>> Connection::call(Requests requests, Deadline deadline, std::stop_token stop) {
  HOLDFAST_REQUIRE(stream_);
  const auto pending = std::make_shared<Pending>(runtime_, requests.size());
  const std::string server = endpoint_.display();
  pending->answers.sent_at = last_sent_ = runtime_.now();
  pending->answers.replies.reserve(requests.size());
  constexpr std::int32_t kLastXid = 0x7fff0000;
  if (next_xid_ > kLastXid) next_xid_ = 1;
  const std::int32_t first = next_xid_;
  for (const Op op : requests.ops()) {
    in_flight_.push_back({pending, op, next_xid_++, pending->answers.sent_at});
  }
  stream_->send(std::move(requests).numbered(first));
  static_cast<void>(co_await pending->done.wait(deadline, std::move(stop)));
  // From here on `this` may be gone.
  if (pending->missing == 0) co_return std::move(pending->answers);
  co_return Failure(Code::unknown, "ZooKeeper at " + server + ": " +
                                       (pending->broken ? pending->why : "no answer in time"));
}

void Connection::ping() {
  last_sent_ = runtime_.now();
  pings_.push_back(last_sent_);
  stream_->send(encode_ping());
}

std::optional<BootTime> Connection::oldest_unanswered() const {
  std::optional<BootTime> oldest;
  if (!in_flight_.empty()) oldest = in_flight_.front().sent_at;
  if (!pings_.empty()) oldest = std::min(oldest.value_or(pings_.front()), pings_.front());
  return oldest;
}

// ---- Hearing -----------------------------------------------------------------------------------

void Connection::on_bytes(std::string_view bytes) {
  const bool cut = cutter_.feed(bytes, [this](std::string_view packet) {
    if (!nonsense_ && !closed_) nonsense_ = !on_packet(packet);
  });
  if (closed_) return;
  if (refused_) {
    on_closed("the login was refused");
  } else if (!cut || nonsense_) {
    on_closed("it does not speak ZooKeeper's protocol");
  }
}

bool Connection::on_packet(std::string_view packet) {
  if (!welcome_) {
    welcome_ = parse_welcome(packet);
    moved_.set();
    return welcome_.has_value();
  }
  const std::optional<ReplyHeader> header = parse_header(packet);
  if (!header) return false;
  switch (header->xid) {
    case kEventXid: {
      const std::optional<WatchEvent> event = parse_event(header->record);
      if (event && !event->path.empty() && open_) listener_.on_event(*event);
      return event.has_value();
    }
    case kPingXid: {
      if (pings_.empty()) return false;
      const BootTime sent_at = pings_.front();
      pings_.pop_front();
      listener_.on_answered(sent_at, false, header->zxid);
      return true;
    }
    case kAuthXid: refused_ = header->error != Error::none; return true;
    case kSetWatchesXid: return true;
    default: return on_reply(*header);
  }
}

bool Connection::on_reply(const ReplyHeader& header) {
  if (in_flight_.empty() || in_flight_.front().xid != header.xid) return false;
  const InFlight sent = std::move(in_flight_.front());
  in_flight_.pop_front();
  std::optional<Reply> reply = parse_reply(sent.op, header.error, header.record);
  if (!reply) return false;
  // An error of a write went through the majority as well, but not all of them did.
  const bool write = reply->ok() && is_write(sent.op);
  listener_.on_answered(sent.sent_at, write, header.zxid);
  Pending& pending = *sent.caller;
  pending.answers.replies.push_back(*std::move(reply));
  if (--pending.missing == 0) pending.done.set();
  return true;
}

void Connection::break_calls(const std::string& why) {
  for (const InFlight& sent : std::exchange(in_flight_, {})) {
    sent.caller->broken = true;
    sent.caller->why = why;
    sent.caller->done.set();
  }
}

void Connection::on_closed(const std::string& why) {
  if (closed_) return;
  closed_ = true;
  why_closed_ = why;
  stream_.reset();
  break_calls(why);
  moved_.set();
  if (open_) listener_.on_closed(why);  // It may destroy us.
}

}  // namespace holdfast::internal::zookeeper
