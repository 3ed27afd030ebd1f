// Stream: bytes to and from a server, over TCP or a unix socket, with or without TLS. The thread
// that sends also writes, before it leaves the loop or waits: together with all that others send
// meanwhile, in one system call. The listener gets the bytes that arrive. Inside the loop only.
#pragma once

#include <memory>
#include <string_view>

#include "holdfast/result.h"
#include "holdfast/runtime.h"
#include "wire/endpoint.h"
#include "wire/tls.h"

namespace holdfast::internal {

class StreamListener {
 public:
  virtual void on_bytes(std::string_view bytes) = 0;
  // Comes at most once, and nothing after it. It may destroy the stream.
  virtual void on_closed(const std::string& why) = 0;
  // Whether an answer is due: then it is looked for before a thread sleeps until it comes.
  virtual bool expects_answer() const { return false; }

 protected:
  ~StreamListener() = default;
};

class Stream {
 public:
  // unreachable if nobody answers by the deadline. `listener` must outlive the stream. `tls` is
  // null for a plain connection.
  static Task<Result<std::unique_ptr<Stream>>> connect(Runtime& runtime, Endpoint endpoint,
                                                       std::shared_ptr<const TlsContext> tls,
                                                       StreamListener& listener, Deadline deadline);
  // Closes; the listener hears nothing more.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void send(std::string_view bytes);

 private:
  class State;
  explicit Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace holdfast::internal
