#include "proxy_pipe.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace holdfast::test {
namespace {

// Beyond it the sender must wait, as it must for a receiver that does not read.
constexpr std::size_t kMaxWaitingBytes = 16 << 20;

}  // namespace

std::optional<ProxyRule::Clock::time_point> ProxyRule::due(Clock::time_point arrived) const {
  switch (mode) {
    case ProxyMode::pass: return arrived;
    case ProxyMode::delay: return arrived + delay;
    case ProxyMode::hold:
    case ProxyMode::drop: break;
  }
  return std::nullopt;
}

void ProxyPipe::keep(Chunk::Kind kind, std::string bytes) {
  waiting_bytes_ += bytes.size();
  waiting_.push_back({kind, Clock::now(), std::move(bytes)});
}

void ProxyPipe::read(ProxyLane& lane) {
  std::array<char, 1 << 16> buffer{};
  const ssize_t size = recv(from_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    end_received_ = true;
    return keep(size == 0 ? Chunk::Kind::end : Chunk::Kind::reset, "");
  }
  lane.received += size;
  if (lane.rule.mode == ProxyMode::drop) return;
  std::string bytes(buffer.data(), static_cast<std::size_t>(size));
  if (lane.change) lane.change(bytes);
  if (!bytes.empty()) keep(Chunk::Kind::bytes, std::move(bytes));
}

bool ProxyPipe::write(ProxyLane& lane, Clock::time_point now) {
  if (!write_some(urgent_, lane)) return false;
  while (urgent_.empty() && !waiting_.empty()) {
    Chunk& first = waiting_.front();
    const auto due = lane.rule.due(first.arrived);
    if (!due || *due > now) return true;
    if (first.kind != Chunk::Kind::bytes) return finish(first.kind);
    const std::size_t before = first.bytes.size();
    if (!write_some(first.bytes, lane)) return false;
    waiting_bytes_ -= before - first.bytes.size();
    if (!first.bytes.empty()) return true;
    waiting_.pop_front();
  }
  return true;
}

bool ProxyPipe::write_some(std::string& bytes, ProxyLane& lane) {
  while (!bytes.empty()) {
    const ssize_t size = send(to_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    lane.delivered += size;
    bytes.erase(0, static_cast<std::size_t>(size));
  }
  return true;
}

bool ProxyPipe::finish(Chunk::Kind kind) {
  waiting_.clear();
  ended_ = true;
  return kind == Chunk::Kind::end && shutdown(to_, SHUT_WR) == 0;
}

void ProxyPipe::drop_waiting() {
  std::erase_if(waiting_, [](const Chunk& chunk) { return chunk.kind == Chunk::Kind::bytes; });
  waiting_bytes_ = 0;
}

bool ProxyPipe::wants_read() const { return !end_received_ && waiting_bytes_ < kMaxWaitingBytes; }

std::optional<ProxyPipe::Clock::time_point> ProxyPipe::next_write(const ProxyRule& rule) const {
  if (!urgent_.empty()) return Clock::time_point::min();
  if (waiting_.empty()) return std::nullopt;
  return rule.due(waiting_.front().arrived);
}

}  // namespace holdfast::test
