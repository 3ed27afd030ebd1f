// GrpcCodec: calls and their messages in, bytes of HTTP/2 out, and back. It touches no socket and
// knows no time: nghttp2 does the framing, this does what gRPC adds to it. As a client only; no
// compression.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "wire/nghttp2.h"

namespace holdfast::internal {

using GrpcCallId = std::int32_t;
using GrpcMetadata = std::vector<std::pair<std::string, std::string>>;

// How a call ended.
struct GrpcEnd {
  int status = -1;       // gRPC's own number, 0 is success; -1: it ended without one
  std::string message;   // what the server, or HTTP/2, says of it
  bool refused = false;  // the server never looked at it
};

class GrpcCodecListener {
 public:
  virtual void on_message(GrpcCallId call, std::string_view message) = 0;
  // Comes once for each call that was begun and not abandoned.
  virtual void on_end(GrpcCallId call, const GrpcEnd& end) = 0;
  // The server has said its settings: it speaks HTTP/2.
  virtual void on_settings() = 0;
  // The server wants no more calls on this connection.
  virtual void on_goaway() = 0;

 protected:
  ~GrpcCodecListener() = default;
};

// The listener must not destroy the codec, nor call receive(), while it is being told something.
class GrpcCodec {
 public:
  // `authority` is the server's host and port. misconfigured if nghttp2 is not there.
  static Result<std::unique_ptr<GrpcCodec>> make(GrpcCodecListener& listener, std::string authority,
                                                 bool encrypted);
  ~GrpcCodec();
  GrpcCodec(const GrpcCodec&) = delete;
  GrpcCodec& operator=(const GrpcCodec&) = delete;

  // Begins a call with a first message, which is also the last if it is `unary`.
  GrpcCallId begin(const std::string& path, const GrpcMetadata& metadata, std::string_view message,
                   bool unary);
  // Another message of a call that is not unary.
  void send(GrpcCallId call, std::string_view message);
  // Ends a call; the listener hears nothing more of it.
  void abandon(GrpcCallId call);

  // Bytes from the server. False, with the reason, if the connection is of no more use.
  bool receive(std::string_view bytes, std::string& problem);
  // The bytes for the server. Answers to pings go with something else, after it: gRPC in Go
  // pings with all that it answers, one ping at a time, to find out how fast the network is. Sent by
  // themselves they would be as many as the calls.
  std::string to_send();
  // There is a ping to be answered, though there may be nothing to send it with for long.
  bool owes_answer() const { return !pings_.empty(); }
  std::string ping_answers();

 private:
  struct Call {
    std::string outgoing;
    std::size_t sent = 0;
    bool last = false;  // nothing follows what is outgoing
    std::string incoming;
    std::string http_status;
    GrpcEnd end;
  };

  GrpcCodec(const Nghttp2& library, GrpcCodecListener& listener, std::string authority,
            bool encrypted);

  Call* find(GrpcCallId call);
  void on_header(GrpcCallId call, std::string_view name, std::string_view value);
  void on_data(GrpcCallId call, std::string_view data);
  void on_close(GrpcCallId call, std::uint32_t error);
  std::ptrdiff_t read(GrpcCallId call, std::uint8_t* buffer, std::size_t size,
                      std::uint32_t* flags);
  void set_callbacks(nghttp2_session_callbacks* callbacks);
  void drain(std::string& bytes);

  const Nghttp2& library_;
  GrpcCodecListener& listener_;
  const std::string authority_;
  const bool encrypted_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<GrpcCallId, Call> calls_;
  using Ping = std::array<std::uint8_t, 8>;
  std::vector<Ping> pings_;  // not answered yet
  std::string problem_;
};

}  // namespace holdfast::internal
