// GrpcChannel: one connection to a gRPC server, shared by all calls of a client. Opened on demand,
// and again after it broke, each time where `where` says. Inside the loop only.
//
// gRPC the protocol, not gRPC the library: that one brings threads of its own, a thread hop per
// call and some thirty shared libraries; we need unary calls and one stream.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "holdfast/runtime.h"
#include "wire/grpc_codec.h"
#include "wire/server_link.h"

namespace holdfast::internal {

struct GrpcReply {
  int status = 0;       // 0: `message` is the answer
  std::string message;  // else what the server says is wrong
  BootTime sent_at;
};

// A call that goes on: messages in both directions.
class GrpcStreamListener {
 public:
  virtual void on_stream_message(std::string_view message) = 0;
  // Comes once; the stream is gone. The status is -1 if the connection broke.
  virtual void on_stream_end(int status, const std::string& why) = 0;

 protected:
  ~GrpcStreamListener() = default;
};

class GrpcChannel final : public ServerLink, private GrpcCodecListener, private Timer {
 public:
  using Where = std::function<Endpoint()>;

  GrpcChannel(Runtime& runtime, std::string server_kind, std::shared_ptr<const TlsContext> tls,
              Duration connect_timeout, Where where);
  ~GrpcChannel();

  // unreachable, misconfigured: it never left. unknown: it left, and no answer came by the
  // deadline, before the connection broke, or before `stop`. An error of the server's is a reply.
  Task<Result<GrpcReply>> call(std::string path, GrpcMetadata metadata, std::string message,
                               Deadline deadline, std::stop_token stop = {});

  // REQUIRES: connected().
  GrpcCallId open_stream(const std::string& path, const GrpcMetadata& metadata,
                         std::string_view first, GrpcStreamListener& listener);
  void send(GrpcCallId stream, std::string_view message);
  void close_stream(GrpcCallId stream);

 private:
  // A call that waits for its answer. Lives in its caller's coroutine.
  struct Pending {
    Pending(GrpcChannel& channel, GrpcCallId call);
    ~Pending();
    GrpcChannel& owner;
    GrpcCallId id;
    Event done;
    bool settled = false;
    bool answered = false;  // there was a message
    std::string message;
    GrpcEnd end;
  };

  Task<Result<Endpoint>> prepare(Deadline deadline) override;
  Task<Result<void>> greet(Deadline deadline) override;
  void break_calls(const std::string& why) override;
  void on_bytes(std::string_view bytes) override;
  void pump();

  void on_message(GrpcCallId call, std::string_view message) override;
  void on_end(GrpcCallId call, const GrpcEnd& end) override;
  void on_settings() override { greeted_.set(); }
  void on_goaway() override { leaving_ = true; }
  void on_time() override;

  Where where_;
  std::unique_ptr<GrpcCodec> codec_;
  bool leaving_ = false;
  bool receiving_ = false;
  Event greeted_;  // the server's settings came, or the connection ended
  std::unordered_map<GrpcCallId, Pending*> pending_;
  std::unordered_map<GrpcCallId, GrpcStreamListener*> streams_;
};

}  // namespace holdfast::internal
