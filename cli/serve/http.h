// Requests and answers as the handlers see them: values, without sockets. One thread runs all of the daemon but the
// clients' own loops, so nothing here needs a lock.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/time.h"
#include "percent.h"
#include "session.h"

namespace holdfast::cli::serve {

namespace net = boost::asio;
template <class T>
using Awaitable = net::awaitable<T>;

struct Request {
  std::string method;
  std::string target;                          // as it came, for logs
  std::vector<std::string> path;               // segments, percent-decoded
  std::map<std::string, std::string> query;    // percent-decoded
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  BootTime received{};   // when it was whole: its sender counts what is left from before that
  std::stop_token gone;  // triggered when the peer closes its connection

  // Empty if there is none.
  const std::string& header(const std::string& lower_case_name) const;
  const std::string* parameter(const std::string& name) const;
};

// Splits a target in origin form into path and query; one in absolute form (as for a proxy) also says which host is
// meant. False if it is malformed, or says something twice.
bool parse_target(std::string_view target, Request& request);

// The way out for a stream of events. send() is false once the peer is gone or too slow.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual Awaitable<bool> send(std::string text) = 0;
  // Ends the stream, and waits a moment for the peer to close its side, too. True: it has. False: it may only be cut off
  // from us, and believe what it was told last.
  virtual Awaitable<bool> goodbye() = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  // Instead of a body: writes events until it returns; then the connection is closed.
  std::function<Awaitable<void>(EventSink&)> stream{};
  // Told whether the answer was written as a whole.
  std::function<void(bool)> written{};
};

// One line of "event: …" and "data: …", as an event source reads it.
std::string event_text(std::string_view event, const Json& data);

std::string json_text(const Json& object);
Response json_response(const Json& object, int status = 200);

}  // namespace holdfast::cli::serve
