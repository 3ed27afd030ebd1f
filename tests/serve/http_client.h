// HttpClient: one connection to a daemon, over TCP or a unix socket, as bytes and as requests. It can do what a good
// client does not: send half a request, not read, end in the middle, reset.
//
// Not thread safe.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::test {

struct Answer {
  int status = 0;                              // 0: the connection ended before an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // Discarded (is_discarded()) if the body is no JSON.
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  std::string header(const std::string& lower_case_name) const;
};

struct Ask {
  std::string method = "GET";
  std::string target = "/";
  std::string body{};  // sent as JSON, if there is one
  std::map<std::string, std::string> headers{};
  std::string host = "127.0.0.1";
};

std::string request_text(const Ask& ask);

class HttpClient {
 public:
  using Patience = std::chrono::seconds;

  explicit HttpClient(int port, int receive_buffer = 0);  // 0: the system's
  explicit HttpClient(const std::string& unix_path);
  ~HttpClient() { close(); }
  HttpClient(HttpClient&& other) noexcept;
  HttpClient& operator=(HttpClient&&) = delete;

  bool connected() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }

  // False once the peer takes no more.
  bool send(std::string_view bytes);
  // The next answer. Status 0 if none came in time or the connection ended.
  Answer answer(Patience patience = Patience(60), bool head = false);
  Answer ask(const Ask& ask);

  // Reads until `text` has come; false if it has not in time. What was read, that included, is taken off.
  bool read_to(std::string_view text, std::string* read = nullptr,
               Patience patience = Patience(60));
  // The data of the next event of this name.
  nlohmann::json event(const std::string& name, Patience patience = Patience(60));
  // True if the peer ends the connection in time; reads what comes before that.
  bool ended(Patience patience = Patience(60));

  void close();        // FIN
  void reset();        // RST
  void end_sending();  // FIN, and reads on

 private:
  bool receive(std::chrono::steady_clock::time_point until);
  bool fill(std::size_t size, std::chrono::steady_clock::time_point until);
  std::string take(std::size_t size);

  int fd_ = -1;
  std::string inbox_;
};

// One request on a connection of its own.
Answer ask_once(int port, Ask ask);

}  // namespace holdfast::test
