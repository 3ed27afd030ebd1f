#include "lab/torture/site.h"

#include <stdexcept>
#include <utility>

#include "lab/torture/actor.h"

namespace holdfast::lab {
namespace {

[[noreturn]] void cannot(const char* what) {
  throw Trouble(std::string("this engine's servers cannot be made to ") + what);
}

}  // namespace

std::unique_ptr<test::Proxy> SiteServer::new_way() const {
  return std::make_unique<test::Proxy>(port());
}
void SiteServer::pause() { cannot("stand still"); }
void SiteServer::resume() { cannot("go on"); }
void SiteServer::kill() { cannot("die"); }
void SiteServer::restart() { cannot("come back"); }
test::MovableClock& SiteServer::clock() { cannot("follow another clock"); }
void SiteServer::jump_wall(std::chrono::seconds by) { clock().jump(by); }
void SiteServer::remember() { cannot("remember"); }
void SiteServer::forget() { cannot("forget"); }

Site::Site(std::vector<std::unique_ptr<SiteServer>> servers, UrlOf url_of, bool proxied)
    : servers_(std::move(servers)), url_of_(std::move(url_of)), proxied_(proxied) {}

std::string Site::url(const std::string& client) {
  std::vector<int> ports;
  if (!proxied_) {
    for (const auto& server : servers_) ports.push_back(server->port());
    return url_of_(ports);
  }
  auto& ways = ways_[client];
  if (ways.empty()) {
    for (const auto& server : servers_) ways.push_back(server->new_way());
  }
  for (const auto& way : ways) ports.push_back(way->port());
  return url_of_(ports);
}

test::Proxy& Site::way(const std::string& client, int number) {
  return *ways_.at(client).at(static_cast<std::size_t>(number - 1));
}

void Site::cut_off(const std::string& client, const std::vector<int>& numbers) {
  for (const int number : numbers) {
    way(client, number).refuse(true);
    way(client, number).reset();
  }
}

void Site::reach(const std::string& client, const std::vector<int>& numbers) {
  for (const int number : numbers) {
    way(client, number).set_both(test::ProxyMode::pass);
    way(client, number).refuse(false);
  }
}

void Site::reach_all() {
  for (auto& [client, ways] : ways_) reach(client, all());
}

std::string Site::fail_over() { cannot("fail over"); }
void Site::cut_replication() { cannot("lose their replication"); }
void Site::kill_sessions() { cannot("end sessions"); }

std::string Site::who_died() {
  for (int number = 1; number <= count(); ++number) {
    if (given_up_.contains(number) || server(number).alive()) continue;
    return "server " + std::to_string(number);
  }
  return "";
}

std::vector<int> Site::all() const {
  std::vector<int> numbers;
  for (int number = 1; number <= count(); ++number) numbers.push_back(number);
  return numbers;
}

}  // namespace holdfast::lab
