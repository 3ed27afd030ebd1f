#include "lab/torture/stage.h"

#include <sstream>
#include <utility>

#include "lab/torture/resource.h"
#include "waiting.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using test::Direction;
using test::ProxyMode;

std::string count_ms(Duration span) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

std::string names(const std::vector<int>& servers) {
  std::string text = servers.size() == 1 ? "server " : "servers ";
  for (std::size_t i = 0; i < servers.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(servers[i]);
  }
  return text;
}

const char* mode_words(ProxyMode mode) {
  switch (mode) {
    case ProxyMode::pass: return "pass";
    case ProxyMode::delay: return "are late";
    case ProxyMode::hold: return "are held up";
    case ProxyMode::drop: return "are lost";
  }
  return "?";
}

// On a server of the user's own nobody else must be in the way, nor find our lock.
std::string new_lock_name() {
  return "holdfast-torture-" + std::to_string(getpid()) + "-" +
         std::to_string(BootClock::now().time_since_epoch().count());
}

// Servers may take their time to start.
std::unique_ptr<Site> open_site(const Profile& profile, const SiteOptions& options,
                                const std::stop_token& stop) {
  const test::StopsWaiting stops_waiting(stop);
  return profile.open(options);
}

}  // namespace

Stage::Stage(const Profile& profile, const SiteOptions& options, std::stop_token stop)
    : profile_(profile),
      stop_(std::move(stop)),
      lock_(new_lock_name()),
      record_(folder_.path() / "history"),
      site_(open_site(profile, options, stop_)) {}

Actor& Stage::client(const std::string& name, const How& how) {
  std::unique_ptr<Actor>& actor = clients_[name];
  if (!actor) {
    actor = std::make_unique<Actor>(name, folder_.path(), record_, stop_, how.environment);
    actor->open(lock_, how.url.empty() ? site_->url(name) : how.url, how.recipe);
  }
  return *actor;
}

void Stage::begin_acquire(Actor& client, Duration ttl, Duration patience, Renewal renewal) {
  client.tell("acquire " + count_ms(ttl) + " " + count_ms(patience) +
              (renewal == Renewal::renew ? " renew" : " once"));
}

bool Stage::answer_is_granted(Actor& client) { return client.answer(120s).starts_with("granted"); }

bool Stage::acquire(Actor& client, Duration ttl, Duration patience, Renewal renewal) {
  begin_acquire(client, ttl, patience, renewal);
  return answer_is_granted(client);
}

bool Stage::acquire_shared(Actor& client, Duration ttl, Duration patience) {
  client.tell("acquire " + count_ms(ttl) + " " + count_ms(patience) + " renew shared");
  return answer_is_granted(client);
}

void Stage::must_acquire(Actor& client, Duration ttl, Renewal renewal) {
  begin_acquire(client, ttl, patience(), renewal);
  const std::string answer = client.answer(120s);
  if (!answer.starts_with("granted")) {
    throw Trouble(client.name() + " did not get the lock to begin with: " + answer);
  }
}

void Stage::break_in() {
  if (profile_.quorum) use_once();
}

void Stage::use_once() {
  Actor& first = client("E");
  must_acquire(first, short_ttl());
  // A grant is known when a majority has answered; what the others do comes a moment later.
  if (profile_.quorum) wait(500ms);
  first.ask("release");
  if (profile_.quorum) wait(500ms);
  clients_.erase("E");
}

void Stage::step(Actor& client, const std::string& sheet, Eyes eyes) {
  client.ask("step " + sheet + (eyes == Eyes::open ? " checked" : " blind"));
}

void Stage::work(Actor& first, Actor& second, const std::vector<std::string>& orders,
                 Eyes eyes_of_first) {
  for (const std::string& order : orders) {
    for (const char who : order) {
      step(who == 'A' ? first : second, order, who == 'A' ? eyes_of_first : Eyes::open);
    }
  }
}

void Stage::deliver(const Actor& from, const std::string& sent) {
  std::istringstream words(sent);
  std::string word;
  std::uint64_t token = 0;
  words >> word >> token;
  std::int64_t value = 0;
  while (words >> word >> value) {
    const auto id = ResourceId::parse(word);
    if (!id) throw Trouble("no resource: " + word);
    Resource(folder_.path(), *id, record_).write(from.name(), Token(token), value);
  }
}

void Stage::fault(const std::string& text, std::function<void()> undo) {
  record_.add({.who = "server", .kind = EventKind::fault, .text = text});
  if (undo) undo_.push_back(std::move(undo));
}

void Stage::jump_wall(const std::vector<int>& servers, std::chrono::seconds by) {
  for (const int number : servers) site_->server(number).jump_wall(by);
  fault(names(servers) + ": clock " + (by > 0s ? "+" : "") + std::to_string(by.count()) + " s",
        [this, servers, by] {
          for (const int number : servers) site_->server(number).jump_wall(-by);
        });
}

void Stage::jump_monotonic(const std::vector<int>& servers, std::chrono::seconds by) {
  for (const int number : servers) site_->server(number).clock().jump_monotonic(by);
  // Not undone: a clock that goes back is another fault.
  fault(names(servers) + ": monotonic clock +" + std::to_string(by.count()) + " s");
}

void Stage::pause_servers(const std::vector<int>& servers) {
  for (const int number : servers) site_->server(number).pause();
  fault(names(servers) + " stopped", [this, servers] {
    for (const int number : servers) site_->server(number).resume();
  });
}

void Stage::kill_servers(const std::vector<int>& servers) {
  for (const int number : servers) site_->server(number).kill();
  fault(names(servers) + " killed", [this, servers] {
    for (const int number : servers) {
      if (!site_->server(number).alive()) site_->server(number).restart();
    }
  });
}

void Stage::restart_servers(const std::vector<int>& servers, const std::string& how) {
  for (const int number : servers) site_->server(number).restart();
  fault(names(servers) + " back " + how);
}

void Stage::restart_together(const std::vector<int>& servers) {
  site_->restart_together(servers);
  fault(names(servers) + " killed, and back with their data", [] {});
}

void Stage::restart_empty(const std::vector<int>& servers) {
  site_->restart_together(servers, [](SiteServer& server) { server.wipe(); });
  fault(names(servers) + " killed, and back empty", [] {});
}

void Stage::back_up(const std::vector<int>& servers) { site_->back_up(servers); }

void Stage::restore(const std::vector<int>& servers) {
  site_->restart_together(servers, [](SiteServer& server) { server.forget(); });
  fault(names(servers) + " restored from a backup", [] {});
}

void Stage::stall_disks() {
  for (const int number : site_->all()) site_->server(number).stall_disk(true);
  fault("the disks stall", [this] {
    for (const int number : site_->all()) site_->server(number).stall_disk(false);
  });
}

void Stage::fill_memory() {
  for (const int number : site_->all()) site_->server(number).fill_memory(true);
  fault("the servers are out of memory", [this] {
    for (const int number : site_->all()) site_->server(number).fill_memory(false);
  });
}

void Stage::fail_over_in_place() {
  site_->fail_over_in_place();
  fault("master killed, replica promoted in its place", [] {});
}

void Stage::silence(Actor& client) {
  for (const int number : site_->all()) site_->way(client.name(), number).silence(true);
  fault(client.name() + " cut off in silence", [this, name = client.name()] {
    for (const int number : site_->all()) site_->way(name, number).silence(false);
  });
}

void Stage::cut_off(Actor& client, const std::vector<int>& servers) {
  site_->cut_off(client.name(), servers);
  fault(client.name() + " cut off from " + names(servers),
        [this, name = client.name(), servers] { site_->reach(name, servers); });
}

void Stage::links(Actor& client, ProxyMode to_server, ProxyMode to_client,
                  std::chrono::milliseconds delay) {
  for (const int number : site_->all()) {
    test::Proxy& way = site_->way(client.name(), number);
    way.set(Direction::to_server, to_server, delay);
    way.set(Direction::to_client, to_client, delay);
  }
  const std::string& name = client.name();
  if (to_server == ProxyMode::pass && to_client == ProxyMode::pass) {
    record_.add({.who = "server", .kind = EventKind::heal, .text = name + "'s links pass"});
    return;
  }
  std::string text;
  if (to_server != ProxyMode::pass) text = name + "'s requests " + mode_words(to_server);
  if (to_client != ProxyMode::pass) {
    text += (text.empty() ? "" : ", ") + ("replies to " + name + " ") + mode_words(to_client);
  }
  const bool holed = to_server == ProxyMode::drop || to_client == ProxyMode::drop;
  fault(text, [this, name, holed] {
    site_->reach(name, site_->all());
    if (!holed) return;
    // A stream that bytes were swallowed from is of no use: it is made anew.
    for (const int number : site_->all()) site_->way(name, number).reset();
  });
}

std::vector<std::int64_t> Stage::bytes(Actor& client, Direction direction) {
  std::vector<std::int64_t> counts;
  for (const int number : site_->all()) {
    counts.push_back(site_->way(client.name(), number).received(direction));
  }
  return counts;
}

void Stage::wait_for_bytes(Actor& client, Direction direction,
                           const std::vector<std::int64_t>& since) {
  // A client of a quorum talks to all of its servers; another one to any of them.
  const int wanted = profile_.quorum ? site_->count() / 2 + 1 : 1;
  const BootTime end = BootClock::now() + 20s;
  for (;;) {
    const std::vector<std::int64_t> now = bytes(client, direction);
    int grown = 0;
    for (std::size_t i = 0; i < now.size(); ++i) grown += now[i] > since[i] ? 1 : 0;
    if (grown >= wanted) return;
    if (BootClock::now() > end) throw Trouble("nothing came from or for " + client.name());
    wait(2ms);
  }
}

void Stage::heal() {
  if (undo_.empty()) return;
  while (!undo_.empty()) {
    const std::function<void()> undo = std::move(undo_.back());
    undo_.pop_back();
    undo();
  }
  record_.add({.who = "server", .kind = EventKind::heal, .text = "healed"});
}

void Stage::note_stalled(Actor& client) {
  record_.add({.who = client.name(), .kind = EventKind::refused, .text = "stalled"});
}

void Stage::finish() {
  heal();
  for (auto& [name, client] : clients_) {
    if (!client->alive()) continue;
    if (client->is_stopped()) client->resume();
    client->ask("release", 60s);
  }
  Actor& newcomer = client("Z", newcomer_);
  const BootTime begin = BootClock::now();
  const bool granted = acquire(newcomer, short_ttl(), patience());
  const Duration took = BootClock::now() - begin;
  record_.add({.who = newcomer.name(),
               .kind = granted ? EventKind::probed : EventKind::stranded,
               .value = took / 1ms});
  if (granted) newcomer.ask("release");
  // Then what came of it is not the fault of the lock.
  if (!site_->who_died().empty()) throw Trouble("a server has ended by itself");
}

}  // namespace holdfast::lab
