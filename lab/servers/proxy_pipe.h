// ProxyPipe: one direction of one connection through a Proxy.
//
//   from --read()--> waiting: chunks, each with its time of arrival --write()--> to
//
// Thread safety: none; the proxy's thread owns it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "proxy.h"

namespace holdfast::test {

struct ProxyRule {
  using Clock = std::chrono::steady_clock;

  // When bytes may be delivered that arrived then; nullopt: not under this rule.
  std::optional<Clock::time_point> due(Clock::time_point arrived) const;

  ProxyMode mode = ProxyMode::pass;
  std::chrono::milliseconds delay{0};
};

// Shared by the pipes of one direction.
struct ProxyLane {
  ProxyRule rule;
  std::function<void(std::string&)> change;  // see Proxy::alter()
  std::int64_t received = 0;
  std::int64_t delivered = 0;
};

class ProxyPipe {
 public:
  using Clock = ProxyRule::Clock;

  // Borrows two sockets that do not block.
  ProxyPipe(int from, int to) : from_(from), to_(to) {}

  // Takes what the sender has sent, its end included.
  void read(ProxyLane& lane);
  // Delivers what is due. False: the receiver is gone, or the sender's reset is delivered by
  // resetting the receiver.
  [[nodiscard]] bool write(ProxyLane& lane, Clock::time_point now);

  void put_first(const std::string& bytes) { urgent_ += bytes; }
  void drop_waiting();

  bool wants_read() const;
  // When there is something to write; nullopt: nothing, as far as time alone can tell.
  std::optional<Clock::time_point> next_write(const ProxyRule& rule) const;
  bool ended() const { return ended_; }  // the end of the stream is delivered

 private:
  struct Chunk {
    enum class Kind { bytes, end, reset };
    Kind kind;
    Clock::time_point arrived;
    std::string bytes;
  };
  void keep(Chunk::Kind kind, std::string bytes);
  bool write_some(std::string& bytes, ProxyLane& lane);
  bool finish(Chunk::Kind kind);

  int from_;
  int to_;
  std::string urgent_;
  std::deque<Chunk> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool end_received_ = false;
  bool ended_ = false;
};

}  // namespace holdfast::test
