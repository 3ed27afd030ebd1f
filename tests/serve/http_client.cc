#include "http_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string lower(std::string text) {
  for (char& each : text) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return text;
}

int connected_socket(int family, const sockaddr* address, socklen_t size, int receive_buffer) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  if (connect(fd, address, size) == 0) return fd;
  ::close(fd);
  return -1;
}

std::map<std::string, std::string> headers_in(const std::string& head) {
  std::map<std::string, std::string> headers;
  for (std::size_t at = head.find("\r\n"); at + 2 < head.size();) {
    const std::size_t end = head.find("\r\n", at + 2);
    const std::string line = head.substr(at + 2, end - at - 2);
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) headers[lower(line.substr(0, colon))] = line.substr(colon + 2);
    at = end;
  }
  return headers;
}

}  // namespace

std::string Answer::header(const std::string& lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? "" : found->second;
}

std::string request_text(const Ask& ask) {
  std::string text = ask.method + ' ' + ask.target + " HTTP/1.1\r\n";
  if (!ask.host.empty()) text += "Host: " + ask.host + "\r\n";
  if (!ask.body.empty() && !ask.headers.contains("Content-Type"))
    text += "Content-Type: application/json\r\n";
  for (const auto& [name, value] : ask.headers) text += name + ": " + value + "\r\n";
  if (ask.method != "GET") text += "Content-Length: " + std::to_string(ask.body.size()) + "\r\n";
  return text + "\r\n" + ask.body;
}

HttpClient::HttpClient(int port, int receive_buffer) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  fd_ = connected_socket(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address,
                         receive_buffer);
}

HttpClient::HttpClient(const std::string& unix_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, unix_path.c_str(), sizeof address.sun_path - 1);
  fd_ = connected_socket(AF_UNIX, reinterpret_cast<sockaddr*>(&address), sizeof address, 0);
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), inbox_(std::move(other.inbox_)) {}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool HttpClient::receive(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd waiting{fd_, POLLIN, 0};
  if (fd_ < 0 || left <= 0 || poll(&waiting, 1, static_cast<int>(left)) != 1) return false;
  char bytes[16384];
  const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  inbox_.append(bytes, static_cast<std::size_t>(count));
  return true;
}

bool HttpClient::fill(std::size_t size, Clock::time_point until) {
  while (inbox_.size() < size) {
    if (!receive(until)) return false;
  }
  return true;
}

std::string HttpClient::take(std::size_t size) {
  std::string taken = inbox_.substr(0, size);
  inbox_.erase(0, size);
  return taken;
}

Answer HttpClient::answer(Patience patience, bool head_only) {
  const auto until = Clock::now() + patience;
  std::size_t end = 0;
  while ((end = inbox_.find("\r\n\r\n")) == std::string::npos) {
    if (!receive(until)) return {};
  }
  const std::string head = take(end + 4);
  Answer answer{std::atoi(head.substr(9, 3).c_str()), headers_in(head), {}};
  if (head_only) return answer;
  if (const std::string length = answer.header("content-length"); !length.empty()) {
    const auto size = static_cast<std::size_t>(std::stoul(length));
    if (!fill(size, until)) return {};
    answer.body = take(size);
  }
  return answer;
}

Answer HttpClient::ask(const Ask& ask) {
  if (!send(request_text(ask))) return {};
  return answer(Patience(60), ask.method == "HEAD");
}

bool HttpClient::read_to(std::string_view text, std::string* read, Patience patience) {
  const auto until = Clock::now() + patience;
  std::size_t at = 0;
  while ((at = inbox_.find(text)) == std::string::npos) {
    if (!receive(until)) return false;
  }
  std::string taken = take(at + text.size());
  if (read) *read = std::move(taken);
  return true;
}

nlohmann::json HttpClient::event(const std::string& name, Patience patience) {
  std::string data;
  if (!read_to("event: " + name + "\ndata: ", nullptr, patience) ||
      !read_to("\n\n", &data, patience))
    return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(data, nullptr, false);
}

bool HttpClient::ended(Patience patience) {
  const auto until = Clock::now() + patience;
  while (receive(until)) inbox_.clear();
  return Clock::now() < until;
}

void HttpClient::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void HttpClient::reset() {
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void HttpClient::end_sending() { shutdown(fd_, SHUT_WR); }

Answer ask_once(int port, Ask ask) {
  ask.headers.emplace("Connection", "close");
  return HttpClient(port).ask(ask);
}

}  // namespace holdfast::test
