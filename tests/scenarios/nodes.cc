#include "nodes.h"

namespace holdfast::scenarios {
namespace {

using test::RedisServer;

template <class Things>
std::string url_of(const Things& things) {
  std::string hosts;
  for (const auto& thing : things) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(thing->port());
  }
  return "redlock://" + hosts + "?node_timeout_ms=1000";
}

}  // namespace

Nodes::Nodes(int count, test::RedisOptions options) {
  options.movable_clock = true;
  for (int i = 0; i < count; ++i) {
    servers_.push_back(std::make_unique<test::RedisServer>(options));
  }
}

std::string Nodes::url() const { return url_of(servers_); }

std::vector<int> Nodes::locked_at(const std::string& name) {
  std::vector<int> numbers;
  for (int number = 1; number <= count(); ++number) {
    RedisServer& server = (*this)[number];
    if (server.running() && server.command({"EXISTS", name}) == "1") numbers.push_back(number);
  }
  return numbers;
}

void Nodes::jump_clocks(std::initializer_list<int> numbers, std::chrono::microseconds by) {
  for (const int number : numbers) (*this)[number].clock().jump(by);
}

View::View(Nodes& nodes) {
  for (int number = 1; number <= nodes.count(); ++number) {
    ways_.push_back(std::make_unique<test::Proxy>(nodes[number].port()));
  }
}

std::string View::url() const { return url_of(ways_); }

std::vector<int> View::ports() const {
  std::vector<int> ports;
  for (const auto& way : ways_) ports.push_back(way->port());
  return ports;
}

void View::cut_off(std::initializer_list<int> numbers) {
  for (const int number : numbers) {
    ways_.at(number - 1)->refuse(true);
    ways_.at(number - 1)->reset();
  }
}

void View::reach(std::initializer_list<int> numbers) {
  for (const int number : numbers) {
    ways_.at(number - 1)->set_both(test::ProxyMode::pass);
    ways_.at(number - 1)->refuse(false);
  }
}

void View::slow_down(int number, std::chrono::milliseconds latency) {
  ways_.at(number - 1)->set_both(test::ProxyMode::delay, latency / 2);
}

}  // namespace holdfast::scenarios
