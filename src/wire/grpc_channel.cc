#include "wire/grpc_channel.h"

#include "base/require.h"

namespace holdfast::internal {

GrpcChannel::GrpcChannel(Runtime& runtime, std::string server_kind,
                         std::shared_ptr<const TlsContext> tls, Duration connect_timeout,
                         Where where)
    : runtime_(runtime),
      kind_(std::move(server_kind)),
      tls_(std::move(tls)),
      connect_timeout_(connect_timeout),
      where_(std::move(where)),
      greeted_(runtime),
      reopening_(runtime, [this] { return try_to_open(); }, [this] { clear(); }) {}

GrpcChannel::~GrpcChannel() {
  runtime_.disarm(*this);
  reopening_.abandon();
  for (const auto& [id, caller] : pending_) caller->settled = true;  // It must not look for us.
}

Failure GrpcChannel::failed(Code code, const std::string& why) const {
  const std::string where = endpoint_ == Endpoint() ? "" : " at " + endpoint_.display();
  return Failure(code, kind_ + where + ": " + why);
}

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<void>> GrpcChannel::open(Deadline deadline, std::stop_token stop) {
  if (connected()) co_return Result<void>();
  reopening_.begin();
  const Woken woken = co_await reopening_.wait(deadline, std::move(stop));
  if (woken == Woken::timed_out) {
    const Result<void>& last = reopening_.last();
    const bool known = !last && !last.message().empty();
    co_return failed(Code::unreachable,
                     "no connection in time" + (known ? " (" + last.message() + ")" : ""));
  }
  if (woken == Woken::cancelled) co_return Failure(Code::cancelled, "cancelled by the caller");
  if (connected()) co_return Result<void>();
  if (!reopening_.last()) co_return reopening_.last().failure();
  co_return failed(Code::unreachable, why_closed_);
}

Task<Result<void>> GrpcChannel::try_to_open() {
  const Deadline deadline = Deadline::at(runtime_.now() + connect_timeout_);
  endpoint_ = where_();
  closed_ = false;
  leaving_ = false;
  greeted_.reset();
  Result<std::unique_ptr<GrpcCodec>> codec =
      GrpcCodec::make(*this, endpoint_.display(), tls_ != nullptr);
  if (!codec) co_return codec.failure();
  codec_ = std::move(codec).value();
  Result<std::unique_ptr<Stream>> stream =
      co_await Stream::connect(runtime_, endpoint_, tls_, *this, deadline);
  if (!stream) co_return failed(stream.code(), stream.message());
  if (closed_) co_return failed(Code::unreachable, why_closed_);
  stream_ = std::move(stream).value();
  pump();
  const Woken woken = co_await greeted_.wait(deadline);
  const std::string doubt = tls_ ? "does it speak gRPC?" : "does it speak gRPC, or want TLS?";
  if (woken != Woken::signalled) {
    co_return failed(Code::unreachable, "no answer in time; " + doubt);
  }
  if (closed_) co_return failed(Code::unreachable, why_closed_ + "; " + doubt);
  ready_ = true;
  co_return Result<void>();
}

void GrpcChannel::clear() {
  stream_.reset();
  codec_.reset();
}

// ---- Calling -----------------------------------------------------------------------------------

GrpcChannel::Pending::Pending(GrpcChannel& channel, GrpcCallId call)
    : owner(channel), id(call), done(channel.runtime_) {
  owner.pending_.emplace(id, this);
}

GrpcChannel::Pending::~Pending() {
  if (settled) return;
  owner.pending_.erase(id);
  owner.codec_->abandon(id);
  owner.pump();
}

Task<Result<GrpcReply>> GrpcChannel::call(std::string path, GrpcMetadata metadata,
                                          std::string message, Deadline deadline,
                                          std::stop_token stop) {
  if (!connected()) {
    const Result<void> opened = co_await open(deadline, stop);
    if (!opened) co_return opened.failure();
  }
  GrpcReply reply;
  reply.sent_at = runtime_.now();
  const GrpcCallId id = codec_->begin(path, metadata, message, true);
  if (id < 0) {
    drop("it has used up its numbers");
    co_return failed(Code::unreachable, why_closed_);
  }
  Pending pending(*this, id);
  pump();
  co_await pending.done.wait(deadline, std::move(stop));
  if (!pending.settled) co_return failed(Code::unknown, "no answer in time");
  if (pending.end.refused) co_return failed(Code::unreachable, pending.end.message);
  if (pending.end.status < 0 || (pending.end.status == 0 && !pending.answered)) {
    co_return failed(Code::unknown, pending.end.message);
  }
  reply.status = pending.end.status;
  reply.message = reply.status == 0 ? std::move(pending.message) : std::move(pending.end.message);
  co_return reply;
}

GrpcCallId GrpcChannel::open_stream(const std::string& path, const GrpcMetadata& metadata,
                                    std::string_view first, GrpcStreamListener& listener) {
  HOLDFAST_REQUIRE(connected());
  const GrpcCallId id = codec_->begin(path, metadata, first, false);
  if (id < 0) return id;
  streams_.emplace(id, &listener);
  pump();
  return id;
}

void GrpcChannel::send(GrpcCallId stream, std::string_view message) {
  if (!codec_) return;
  codec_->send(stream, message);
  pump();
}

void GrpcChannel::close_stream(GrpcCallId stream) {
  if (streams_.erase(stream) == 0 || !codec_) return;
  codec_->abandon(stream);
  pump();
}

void GrpcChannel::pump() {
  // While nghttp2 tells us something it cannot be asked for more: on_bytes() does so after.
  if (stream_ && codec_ && !receiving_) stream_->send(codec_->to_send());
}

// ---- Hearing -----------------------------------------------------------------------------------

void GrpcChannel::on_bytes(std::string_view bytes) {
  std::string problem;
  receiving_ = true;
  const bool sound = codec_->receive(bytes, problem);
  receiving_ = false;
  pump();  // acknowledgements
  // A ping is answered with the next call, but not later than that.
  constexpr Duration kPingPatience = std::chrono::milliseconds(100);
  if (codec_->owes_answer() && !armed()) runtime_.arm(*this, runtime_.now() + kPingPatience);
  if (leaving_) {
    on_closed("the server is leaving");
  } else if (!sound) {
    on_closed("it does not speak gRPC (" + problem + ")");
  }
}

void GrpcChannel::on_time() {
  if (stream_ && codec_ && codec_->owes_answer()) stream_->send(codec_->ping_answers());
}

void GrpcChannel::on_message(GrpcCallId call, std::string_view message) {
  if (const auto caller = pending_.find(call); caller != pending_.end()) {
    caller->second->answered = true;
    caller->second->message = message;
  } else if (const auto stream = streams_.find(call); stream != streams_.end()) {
    stream->second->on_stream_message(message);
  }
}

void GrpcChannel::on_end(GrpcCallId call, const GrpcEnd& end) {
  if (const auto caller = pending_.find(call); caller != pending_.end()) {
    Pending& pending = *caller->second;
    pending_.erase(caller);
    pending.settled = true;
    pending.end = end;
    pending.done.set();
  } else if (const auto stream = streams_.find(call); stream != streams_.end()) {
    GrpcStreamListener& listener = *stream->second;
    streams_.erase(stream);
    listener.on_stream_end(end.status, end.message);
  }
}

void GrpcChannel::drop(const std::string& why) {
  if (stream_) {
    on_closed(why);
  } else if (reopening_.under_way()) {
    closed_ = true;  // The connection that is being opened is not wanted any more.
    why_closed_ = why;
  }
}

void GrpcChannel::on_closed(const std::string& why) {
  why_closed_ = why;
  closed_ = true;
  ready_ = false;
  ++generation_;
  stream_.reset();
  greeted_.set();
  forget_all(why);
}

void GrpcChannel::forget_all(const std::string& why) {
  for (const auto& [id, caller] : std::exchange(pending_, {})) {
    caller->settled = true;
    caller->end = GrpcEnd{.status = -1, .message = why, .refused = false};
    caller->done.set();
  }
  for (const auto& [id, listener] : std::exchange(streams_, {})) listener->on_stream_end(-1, why);
}

}  // namespace holdfast::internal
