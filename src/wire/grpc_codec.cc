#include "wire/grpc_codec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <new>

namespace holdfast::internal {

namespace {

// A message of etcd's is seldom more than some kilobytes; a list of all locks can be long.
constexpr std::size_t kMaxMessage = std::size_t{64} << 20;
constexpr std::int32_t kWindow = std::int32_t{4} << 20;
constexpr std::size_t kPrefix = 5;  // in front of a message: compressed or not, and its length

std::string framed(std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string out(kPrefix, '\0');
  for (std::size_t i = 0; i < 4; ++i) out[4 - i] = static_cast<char>(size >> (8 * i));
  out += message;
  return out;
}

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// gRPC escapes what is not printable ASCII.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  // nghttp2 copies both; it asks for pointers to bytes that it could change, and does not.
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

GrpcCodec::GrpcCodec(const Nghttp2& library, GrpcCodecListener& listener, std::string authority,
                     bool encrypted)
    : library_(library),
      listener_(listener),
      authority_(std::move(authority)),
      encrypted_(encrypted) {}

GrpcCodec::~GrpcCodec() {
  if (session_) library_.nghttp2_session_del(session_);
}

Result<std::unique_ptr<GrpcCodec>> GrpcCodec::make(GrpcCodecListener& listener,
                                                   std::string authority, bool encrypted) {
  const Result<const Nghttp2*> loaded = Nghttp2::load();
  if (!loaded) return loaded.failure();
  const Nghttp2& library = **loaded;
  std::unique_ptr<GrpcCodec> codec(
      new GrpcCodec(library, listener, std::move(authority), encrypted));
  nghttp2_session_callbacks* callbacks = nullptr;
  if (library.nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
  codec->set_callbacks(callbacks);
  nghttp2_option* option = nullptr;
  if (library.nghttp2_option_new(&option) != 0) throw std::bad_alloc();
  library.nghttp2_option_set_no_auto_ping_ack(option, 1);
  const int made =
      library.nghttp2_session_client_new2(&codec->session_, callbacks, codec.get(), option);
  library.nghttp2_option_del(option);
  library.nghttp2_session_callbacks_del(callbacks);
  if (made != 0) throw std::bad_alloc();
  const std::array<nghttp2_settings_entry, 2> settings{
      {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow}}};
  library.nghttp2_submit_settings(codec->session_, NGHTTP2_FLAG_NONE, settings.data(),
                                  settings.size());
  library.nghttp2_session_set_local_window_size(codec->session_, NGHTTP2_FLAG_NONE, 0, kWindow);
  return codec;
}

void GrpcCodec::set_callbacks(nghttp2_session_callbacks* callbacks) {
  library_.nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* self) {
        static_cast<GrpcCodec*>(self)->on_header(frame->hd.stream_id, text_of(name, name_size),
                                                 text_of(value, value_size));
        return 0;
      });
  library_.nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                    std::size_t size, void* self) {
        static_cast<GrpcCodec*>(self)->on_data(stream, text_of(data, size));
        return 0;
      });
  library_.nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t stream, std::uint32_t error, void* self) {
        static_cast<GrpcCodec*>(self)->on_close(stream, error);
        return 0;
      });
  library_.nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
        GrpcCodec& codec = *static_cast<GrpcCodec*>(self);
        GrpcCodecListener& listener = codec.listener_;
        if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
          std::copy_n(frame->ping.opaque_data, sizeof(Ping), codec.pings_.emplace_back().begin());
        }
        if (frame->hd.type == NGHTTP2_GOAWAY) listener.on_goaway();
        if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
          listener.on_settings();
        }
        return 0;
      });
}

GrpcCodec::Call* GrpcCodec::find(GrpcCallId call) {
  const auto found = calls_.find(call);
  return found == calls_.end() ? nullptr : &found->second;
}

// ---- Calling -----------------------------------------------------------------------------------

GrpcCallId GrpcCodec::begin(const std::string& path, const GrpcMetadata& metadata,
                            std::string_view message, bool unary) {
  std::vector<nghttp2_nv> fields{field(":method", "POST"),
                                 field(":scheme", encrypted_ ? "https" : "http"),
                                 field(":path", path),
                                 field(":authority", authority_),
                                 field("content-type", "application/grpc"),
                                 field("user-agent", "holdfast"),
                                 field("te", "trailers")};
  for (const auto& [name, value] : metadata) fields.push_back(field(name, value));
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t stream, std::uint8_t* buffer,
                              std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                              void* self) -> ssize_t {
    return static_cast<GrpcCodec*>(self)->read(stream, buffer, size, flags);
  };
  const GrpcCallId call = library_.nghttp2_submit_request(session_, nullptr, fields.data(),
                                                          fields.size(), &provider, nullptr);
  if (call < 0) return call;  // No more numbers: the caller opens another connection.
  Call& state = calls_[call];
  state.outgoing = framed(message);
  state.last = unary;
  return call;
}

void GrpcCodec::send(GrpcCallId call, std::string_view message) {
  Call* const state = find(call);
  if (!state) return;
  state->outgoing += framed(message);
  library_.nghttp2_session_resume_data(session_, call);
}

void GrpcCodec::abandon(GrpcCallId call) {
  if (calls_.erase(call) == 0) return;
  library_.nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call, NGHTTP2_CANCEL);
}

std::ptrdiff_t GrpcCodec::read(GrpcCallId call, std::uint8_t* buffer, std::size_t size,
                               std::uint32_t* flags) {
  Call* const state = find(call);
  if (!state) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // abandoned before it left
  const std::size_t part = std::min(size, state->outgoing.size() - state->sent);
  std::memcpy(buffer, state->outgoing.data() + state->sent, part);
  state->sent += part;
  const bool all = state->sent == state->outgoing.size();
  if (all) {
    state->outgoing.clear();
    state->sent = 0;
  }
  if (all && state->last) *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (part == 0 && !state->last) return NGHTTP2_ERR_DEFERRED;
  return static_cast<std::ptrdiff_t>(part);
}

void GrpcCodec::drain(std::string& bytes) {
  for (;;) {
    const std::uint8_t* part = nullptr;
    const ssize_t size = library_.nghttp2_session_mem_send(session_, &part);
    if (size < 0) problem_ = library_.nghttp2_strerror(static_cast<int>(size));
    if (size <= 0) return;
    bytes.append(reinterpret_cast<const char*>(part), static_cast<std::size_t>(size));
  }
}

std::string GrpcCodec::to_send() {
  std::string bytes;
  drain(bytes);
  // A server that pings more often wants an answer.
  constexpr std::size_t kMaxPings = 4;
  if (!bytes.empty() || pings_.size() > kMaxPings) bytes += ping_answers();
  return bytes;
}

std::string GrpcCodec::ping_answers() {
  std::string bytes;
  for (const Ping& ping : std::exchange(pings_, {})) {
    library_.nghttp2_submit_ping(session_, NGHTTP2_FLAG_ACK, ping.data());
  }
  drain(bytes);
  return bytes;
}

// ---- Hearing -----------------------------------------------------------------------------------

bool GrpcCodec::receive(std::string_view bytes, std::string& problem) {
  const ssize_t taken = library_.nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) problem_ = library_.nghttp2_strerror(static_cast<int>(taken));
  if (problem_.empty() && library_.nghttp2_session_want_read(session_) == 0) {
    problem_ = "HTTP/2 is over";  // It was told to leave, or broke the rules.
  }
  problem = problem_;
  return problem_.empty();
}

void GrpcCodec::on_header(GrpcCallId call, std::string_view name, std::string_view value) {
  Call* const state = find(call);
  if (!state) return;
  if (name == ":status") state->http_status = value;
  if (name == "grpc-message") state->end.message = unescaped(value);
  if (name == "grpc-status") {
    int status = -1;
    std::from_chars(value.data(), value.data() + value.size(), status);
    state->end.status = status;
  }
}

void GrpcCodec::on_data(GrpcCallId call, std::string_view data) {
  Call* state = find(call);
  if (!state) return;
  state->incoming += data;
  while (state && state->incoming.size() >= kPrefix) {
    const std::string& in = state->incoming;
    std::size_t size = 0;
    for (std::size_t i = 1; i < kPrefix; ++i) size = size << 8 | static_cast<std::uint8_t>(in[i]);
    if (in[0] != 0 || size > kMaxMessage) {
      problem_ = in[0] != 0 ? "it compressed an answer, which nobody asked for"
                            : "it announced a message of " + std::to_string(size) + " bytes";
      return;
    }
    if (in.size() < kPrefix + size) return;
    const std::string message = in.substr(kPrefix, size);
    state->incoming.erase(0, kPrefix + size);
    listener_.on_message(call, message);
    state = find(call);  // It may have been abandoned.
  }
}

void GrpcCodec::on_close(GrpcCallId call, std::uint32_t error) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  const Call state = std::move(found->second);
  calls_.erase(found);
  GrpcEnd end = state.end;
  end.refused = error == NGHTTP2_REFUSED_STREAM;
  if (end.status < 0 && end.message.empty()) {
    end.message =
        state.http_status.empty() || state.http_status == "200"
            ? "the call ended without an answer (HTTP/2 error " + std::to_string(error) + ")"
            : "it answered with HTTP status " + state.http_status;
  }
  listener_.on_end(call, end);
}

}  // namespace holdfast::internal
