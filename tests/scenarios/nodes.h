// Nodes: independent Redis servers, and for each client a way of its own to each of them, so that
// one client can reach a node that another cannot. Nodes are numbered from 1, as people count.
//
// Thread safety: one thread at a time, except url().
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "proxy.h"
#include "redis_server.h"

namespace holdfast::scenarios {

class Nodes {
 public:
  // Their clocks can be moved.
  explicit Nodes(int count = 5, test::RedisOptions options = {});

  int count() const { return static_cast<int>(servers_.size()); }
  test::RedisServer& operator[](int number) { return *servers_.at(number - 1); }

  // "redlock://127.0.0.1:P1,…" without anything between. A node has a second to answer: on a
  // machine that is busy with other things it may need more than the usual quarter.
  std::string url() const;

  // The numbers of those at which somebody has the word of lock `name`. A grant is known when a
  // majority has answered; what the others do comes a moment later.
  std::vector<int> locked_at(const std::string& name);

  void jump_clocks(std::initializer_list<int> numbers, std::chrono::microseconds by);

 private:
  std::vector<std::unique_ptr<test::RedisServer>> servers_;
};

// How one client sees the nodes.
class View {
 public:
  explicit View(Nodes& nodes);

  // What that client opens.
  std::string url() const;
  std::vector<int> ports() const;

  // The node refuses this client at once.
  void cut_off(std::initializer_list<int> numbers);
  void reach(std::initializer_list<int> numbers);  // again, and at full speed
  // Both directions together take `latency`.
  void slow_down(int number, std::chrono::milliseconds latency);

 private:
  std::vector<std::unique_ptr<test::Proxy>> ways_;
};

}  // namespace holdfast::scenarios
