#include "lab/torture/site.h"

#include <stdexcept>
#include <utility>

#include "lab/torture/actor.h"
#include "server_process.h"

namespace holdfast::lab {
namespace {

[[noreturn]] void cannot(const char* what) {
  throw Trouble(std::string("this engine's servers cannot be made to ") + what);
}

// With owners, as servers that run as somebody else need it.
void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to,
               const std::filesystem::path& log) {
  test::ServerProcess copy(
      {test::find_program("cp", "coreutils"), "-a", from.string(), to.string()}, log);
  if (copy.wait() != 0) throw Trouble("cannot copy " + from.string() + ": " + copy.log());
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
void SiteServer::stall_disk(bool) { cannot("wait for their disks"); }
void SiteServer::fill_memory(bool) { cannot("run out of memory"); }

void SiteServer::remember() {
  backup_ = std::make_unique<test::TempDir>();
  pause();
  int number = 0;
  for (const auto& folder : data()) {
    copy_tree(folder, backup_->path() / std::to_string(++number), backup_->path() / "log");
  }
  resume();
  if (number == 0) cannot("remember");
}

void SiteServer::forget() {
  wipe();
  int number = 0;
  for (const auto& folder : data()) {
    copy_tree(backup_->path() / std::to_string(++number), folder, backup_->path() / "log");
  }
}

void SiteServer::wipe() {
  for (const auto& folder : data()) std::filesystem::remove_all(folder);
}

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
    if (moved_to_) ways.front()->lead_to(*moved_to_);
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

void Site::restart_together(const std::vector<int>& numbers,
                            const std::function<void(SiteServer&)>& between) {
  for (const int number : numbers) server(number).kill();
  for (const int number : numbers) {
    if (between) between(server(number));
  }
  start_dead();
}

void Site::start_dead() {
  for (const int number : all()) {
    if (!server(number).alive() && !given_up_.contains(number)) server(number).restart();
  }
}

void Site::fail_over_in_place() {
  server(1).kill();
  give_up(1);
  moved_to_ = promote();
  for (auto& [client, ways] : ways_) ways.front()->lead_to(*moved_to_);
}

int Site::promote() { cannot("fail over"); }
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
