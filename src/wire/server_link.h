// ServerLink: a stream to a server that is opened on demand, in the background, and opened anew after it broke.
//
//            open()                 connected             greeted
//   closed ─────────► connecting ─────────────► greeting ─────────► ready
//     ▲                    │ failed                 │ failed          │ broken, or drop()
//     └────────────────────┴────────────────────────┴─────────────────┘ break_calls()
//
// The protocol is the derived class's. Inside the loop only.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "wire/reopening.h"
#include "wire/stream.h"

namespace holdfast::internal {

class ServerLink : protected StreamListener {
 public:
  // Begins to open it, if it is not open; nobody has to wait for it.
  void begin_to_open();
  // Opens it, if it is not open.
  Task<Result<void>> open(Deadline deadline, std::stop_token stop = {});
  bool connected() const { return stream_ && ready_; }
  // Another one after each reconnection: while it and connected() are what they were, a call goes to the same
  // server process.
  std::uint64_t generation() const { return generation_; }
  // Where the server is, or was last.
  const Endpoint& endpoint() const { return endpoint_; }
  // Closes it: calls under way become unknown, the next one opens it anew.
  void drop(const std::string& why);

  // "Redis at db1:6379: why".
  Failure failed(Code code, const std::string& why) const;

 protected:
  // `server` names the product in messages. `tls` is null for a plain connection.
  ServerLink(Runtime& runtime, std::string server, std::shared_ptr<const TlsContext> tls,
             Duration connect_timeout);
  // REQUIRES: stop_opening() was called by the derived class, whose members the opening uses.
  ~ServerLink() = default;
  void stop_opening() { reopening_.abandon(); }

  // Before each connection: where the server is. The parser is put into its first state.
  virtual Task<Result<Endpoint>> prepare(Deadline deadline) = 0;
  // The first exchange on a stream: is it the product, and does it take our login?
  virtual Task<Result<void>> greet(Deadline deadline) = 0;
  // The stream is gone: no call under way will be answered.
  virtual void break_calls(const std::string& why) = 0;
  // An open connection, or one that was just being greeted, has ended.
  virtual void on_ended() {}

  void on_closed(const std::string& why) override;

  Runtime& runtime() const { return runtime_; }
  Stream& stream() { return *stream_; }
  bool has_stream() const { return stream_ != nullptr; }
  const TlsContext* tls() const { return tls_.get(); }
  // The stream has ended, perhaps before we had it.
  bool closed() const { return closed_; }
  const std::string& why_closed() const { return why_closed_; }
  // True if it has been failing to open, or has been opening for so long.
  bool is_hard_to_open(Duration patience) const { return reopening_.is_hard(patience); }
  void set_endpoint(Endpoint endpoint) { endpoint_ = std::move(endpoint); }

 private:
  Task<Result<void>> try_to_open();
  // REQUIRES: endpoint_ is where to.
  Task<Result<void>> connect(Deadline deadline);
  void on_failed_opening();

  Runtime& runtime_;
  const std::string server_;
  const std::shared_ptr<const TlsContext> tls_;
  const Duration connect_timeout_;
  Endpoint endpoint_;
  std::unique_ptr<Stream> stream_;
  bool ready_ = false;
  bool closed_ = false;
  std::string why_closed_;
  std::uint64_t generation_ = 0;
  Reopening reopening_;
};

}  // namespace holdfast::internal
