// Stage: where a scenario is played: an engine's servers, clients by name, what is done to them,
// and the history of it all. Everything that was done is undone by heal(), in reverse.
//
// Thread safety: one thread at a time, the one that made it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "lab/history.h"
#include "lab/torture/actor.h"
#include "lab/torture/profile.h"
#include "temp_dir.h"

namespace holdfast::lab {

// Every order of two clients' two steps: each reads, then writes.
inline const std::vector<std::string> kAllOrders = {"AABB", "ABAB", "ABBA", "BAAB", "BABA", "BBAA"};

struct How {
  std::string recipe = "holdfast";
  std::string url = {};                       // empty: its own way to the servers
  std::vector<std::string> environment = {};  // of its process
};

class Stage {
 public:
  Stage(const Profile& profile, const SiteOptions& options, std::stop_token stop);

  const Profile& profile() const { return profile_; }
  Site& site() { return *site_; }
  const std::filesystem::path& folder() const { return folder_.path(); }

  // Started and connected when it is first asked for.
  Actor& client(const std::string& name, const How& how = {});

  // A ttl that ends soon, and one that outlasts the run.
  Duration short_ttl() const { return profile_.ttl; }
  static constexpr Duration kLongTtl = std::chrono::seconds(60);
  // How long somebody waits for a lock that will be free when a short ttl has passed.
  Duration patience() const { return 2 * profile_.ttl + std::chrono::seconds(20); }

  enum class Renewal { renew, once };
  // Tells it to ask; the answer is to come.
  void begin_acquire(Actor& client, Duration ttl, Duration patience,
                     Renewal renewal = Renewal::renew);
  // True if it was granted.
  bool acquire(Actor& client, Duration ttl, Duration patience, Renewal renewal = Renewal::renew);
  bool acquire_shared(Actor& client, Duration ttl, Duration patience);
  bool answer_is_granted(Actor& client);
  // Throws Trouble if it is not granted: then the scenario has not come about.
  void must_acquire(Actor& client, Duration ttl, Renewal renewal = Renewal::renew);

  // All servers of a quorum have been used by somebody: what is new about them is over, and one that
  // comes back empty is not taken for a new one. Elsewhere nothing.
  void break_in();
  // The same on every engine: the lock has been held, and its tokens have begun.
  void use_once();

  // Each looks before each step whether it still holds the lock, unless it is blind.
  enum class Eyes { open, blind };
  void step(Actor& client, const std::string& sheet, Eyes eyes = Eyes::open);
  // 'A' in an order is the first, 'B' the second.
  void work(Actor& first, Actor& second, const std::vector<std::string>& orders = kAllOrders,
            Eyes eyes_of_first = Eyes::open);
  // A write that was sent (the answer to "send") arrives.
  void deliver(const Actor& from, const std::string& sent);

  // Faults. The text goes into the history.
  void fault(const std::string& text, std::function<void()> undo = {});
  void jump_wall(const std::vector<int>& servers, std::chrono::seconds by);
  void jump_monotonic(const std::vector<int>& servers, std::chrono::seconds by);
  void pause_servers(const std::vector<int>& servers);
  void kill_servers(const std::vector<int>& servers);
  void restart_servers(const std::vector<int>& servers, const std::string& how);
  // Killed, and started when all of them are down. Of an engine that agrees: give it all servers.
  void restart_together(const std::vector<int>& servers);
  void restart_empty(const std::vector<int>& servers);
  // restore() puts the servers back to their state at back_up().
  void back_up(const std::vector<int>& servers);
  void restore(const std::vector<int>& servers);
  void stall_disks();
  void fill_memory();
  void fail_over_in_place();
  // No sign of life between this client and the servers: no FIN, no RST, no refusal.
  void silence(Actor& client);
  void cut_off(Actor& client, const std::vector<int>& servers);
  // Bytes are swallowed, kept or slowed down on this client's ways.
  void links(Actor& client, test::ProxyMode to_server, test::ProxyMode to_client,
             std::chrono::milliseconds delay = {});
  // Waits until more has come on this client's ways: of a quorum on those of a majority.
  void wait_for_bytes(Actor& client, test::Direction direction,
                      const std::vector<std::int64_t>& since);
  std::vector<std::int64_t> bytes(Actor& client, test::Direction direction);
  void heal();

  void wait(Duration span) { sleep_for(span, stop_); }
  void note_stalled(Actor& client);
  void note(const std::string& text) { notes_.push_back(text); }
  const std::vector<std::string>& notes() const { return notes_; }

  // Heals, lets everybody give back what it has, and requires that a newcomer gets the lock. Throws
  // Trouble if a server has died that nobody killed: then nothing follows from the run.
  void finish();
  // Of finish(): where and how the newcomer asks.
  void newcomer_is(const How& how) { newcomer_ = how; }

  History history() const { return read_history(folder_.path() / "history"); }
  HistoryFile& record() { return record_; }
  std::stop_token stop_token() const { return stop_; }
  const std::string& lock_name() const { return lock_; }
  std::map<std::string, std::unique_ptr<Actor>>& clients() { return clients_; }

 private:
  const Profile& profile_;
  const std::stop_token stop_;
  const std::string lock_;
  test::TempDir folder_;
  HistoryFile record_;
  std::unique_ptr<Site> site_;
  std::map<std::string, std::unique_ptr<Actor>> clients_;
  std::vector<std::function<void()>> undo_;
  std::vector<std::string> notes_;
  How newcomer_;
};

}  // namespace holdfast::lab
