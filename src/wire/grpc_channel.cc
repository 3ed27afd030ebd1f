#include "wire/grpc_channel.h"

#include "base/require.h"

namespace holdfast::internal {

GrpcChannel::GrpcChannel(Runtime& runtime, std::string server_kind,
                         std::shared_ptr<const TlsContext> tls, Duration connect_timeout,
                         Where where)
    : ServerLink(runtime, std::move(server_kind), std::move(tls), connect_timeout),
      where_(std::move(where)),
      greeted_(runtime) {}

GrpcChannel::~GrpcChannel() {
  runtime().disarm(*this);
  stop_opening();
  for (const auto& [id, caller] : pending_) caller->settled = true;  // It must not look for us.
}

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<Endpoint>> GrpcChannel::prepare(Deadline) {
  leaving_ = false;
  greeted_.reset();
  Endpoint where = where_();
  Result<std::unique_ptr<GrpcCodec>> codec =
      GrpcCodec::make(*this, where.display(), tls() != nullptr);
  if (!codec) co_return codec.failure();
  codec_ = std::move(codec).value();
  co_return where;
}

Task<Result<void>> GrpcChannel::greet(Deadline deadline) {
  pump();
  const Woken woken = co_await greeted_.wait(deadline);
  const std::string doubt = tls() ? "does it speak gRPC?" : "does it speak gRPC, or want TLS?";
  if (woken != Woken::signalled) {
    co_return failed(Code::unreachable, "no answer in time; " + doubt);
  }
  if (closed()) co_return failed(Code::unreachable, why_closed() + "; " + doubt);
  co_return Result<void>();
}

// ---- Calling -----------------------------------------------------------------------------------

GrpcChannel::Pending::Pending(GrpcChannel& channel, GrpcCallId call)
    : owner(channel), id(call), done(channel.runtime()) {
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
  reply.sent_at = runtime().now();
  const GrpcCallId id = codec_->begin(path, metadata, message, true);
  if (id < 0) {
    drop("its stream numbers are exhausted");
    co_return failed(Code::unreachable, why_closed());
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
  if (has_stream() && codec_ && !receiving_) stream().send(codec_->to_send());
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
  if (codec_->owes_answer() && !armed()) runtime().arm(*this, runtime().now() + kPingPatience);
  if (leaving_) {
    on_closed("the server is leaving");
  } else if (!sound) {
    on_closed("it does not speak gRPC (" + problem + ")");
  }
}

void GrpcChannel::on_time() {
  if (has_stream() && codec_ && codec_->owes_answer()) stream().send(codec_->ping_answers());
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

void GrpcChannel::break_calls(const std::string& why) {
  greeted_.set();
  for (const auto& [id, caller] : std::exchange(pending_, {})) {
    caller->settled = true;
    caller->end = GrpcEnd{.status = -1, .message = why, .refused = false};
    caller->done.set();
  }
  for (const auto& [id, listener] : std::exchange(streams_, {})) listener->on_stream_end(-1, why);
}

}  // namespace holdfast::internal
