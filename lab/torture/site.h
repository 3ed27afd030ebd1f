// Site: the real servers of one engine, started for one run, and for each client a way of its own
// (a proxy) to each of them, so that one client can reach a server that another cannot.
//
// Servers are numbered from 1, as people count. What a site cannot do is not asked of it: see
// Profile::can.
//
// Thread safety: one thread at a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "movable_clock.h"
#include "proxy.h"
#include "temp_dir.h"

namespace holdfast::lab {

// Actions on servers or on the way to them.
enum class Can {
  cut_links,       // there is a network between client and server
  pause_servers,   //
  restart_empty,   // SIGKILL, and what it knew is gone
  restart_full,    // SIGKILL, and what it answered is still there
  lose_a_second,   // as a power cut would: what was written last is gone
  move_wall,       // the wall clock of a server
  move_monotonic,  // the clock that no administrator can set
  fail_over,       // to a replica
  kill_sessions,   // the server ends a client's connection
  restore,         // its data are put back to an earlier copy
  stall_disk,      // what it syncs does not come back from the disk
  fill_memory,     // it has no room for more
  set_defaults,    // its settings are others than our tests are used to: see Defaults
};

// How the servers of a site keep what they know.
enum class Keeping { nothing, everything, every_second };

// The server's defaults for a new session.
//   strict   nothing commits by itself, every transaction is serializable, a lock that waits too
//            long ends the whole transaction
//   lax      transactions read what is not committed, and idle sessions end after two seconds
enum class Defaults { usual, strict, lax };

struct SiteOptions {
  Keeping keeping = Keeping::nothing;
  bool replica = false;
  bool syncs = false;  // the servers sync what they answer, so that a disk can stall them
  Defaults defaults = Defaults::usual;
  bool short_ttls = false;  // no ttl is above two seconds: a quorum's nodes wait for no longer
};

// One server. What is not overridden cannot be done to it.
class SiteServer {
 public:
  virtual ~SiteServer() = default;
  virtual int port() const = 0;
  virtual std::unique_ptr<test::Proxy> new_way() const;  // of a client to it
  virtual void pause();
  virtual void resume();
  virtual void kill();
  virtual void restart();  // also after kill()
  virtual test::MovableClock& clock();
  virtual void jump_wall(std::chrono::seconds by);  // as clock() does, unless it has another way
  // Where it keeps what it knows; nothing: nowhere.
  virtual std::vector<std::filesystem::path> data() const { return {}; }
  // Copies its data, as a snapshot of its file system would. REQUIRES: it is paused.
  void remember();
  // Forgets what was written since remember(), or everything. REQUIRES: it is down.
  void forget();
  void wipe();
  virtual void stall_disk(bool stalled);
  virtual void fill_memory(bool full);
  virtual bool alive() = 0;

 private:
  std::unique_ptr<test::TempDir> backup_;
};

class Site {
 public:
  // Of a URL from the ports of all servers, or of the ways to them.
  using UrlOf = std::function<std::string(const std::vector<int>& ports)>;

  Site(std::vector<std::unique_ptr<SiteServer>> servers, UrlOf url_of, bool proxied = true);
  virtual ~Site() = default;

  int count() const { return static_cast<int>(servers_.size()); }
  SiteServer& server(int number) { return *servers_.at(static_cast<std::size_t>(number - 1)); }

  // The URL of this client: through proxies of its own.
  std::string url(const std::string& client);
  // This client's way to a server. REQUIRES: url(client) was asked for.
  test::Proxy& way(const std::string& client, int number);
  void cut_off(const std::string& client, const std::vector<int>& numbers);  // refused at once
  void reach(const std::string& client, const std::vector<int>& numbers);
  void reach_all();  // every client, every server

  // Copies the data of all of them at one moment: they are paused together. Copies of one member
  // after the other are no backup of servers that agree: if they elect meanwhile, the later copies
  // have what a majority of the copies has not, and what comes of them may never agree again.
  void back_up(const std::vector<int>& numbers);
  // Kills all of them, does `between` to each and starts them together.
  void restart_together(const std::vector<int>& numbers,
                        const std::function<void(SiteServer&)>& between = {});

  // The replica becomes the master; its URL. REQUIRES: SiteOptions::replica, Can::fail_over.
  std::string fail_over() { return url_of_({promote()}); }
  // The same behind the address that clients have: their ways lead to the new master.
  void fail_over_in_place();
  virtual void cut_replication();
  // The server ends every session of everybody. REQUIRES: Can::kill_sessions.
  virtual void kill_sessions();

  // A server that does not run, and is not among those that were given up for good; or empty.
  virtual std::string who_died();
  // It is dead and stays so, as part of the experiment.
  void give_up(int number) { given_up_.insert(number); }
  std::vector<int> all() const;  // the numbers of all servers

 protected:
  virtual int promote();  // the replica; its port
  // Starts those that are down. Servers that agree must be started together.
  virtual void start_dead();

 private:
  std::vector<std::unique_ptr<SiteServer>> servers_;
  UrlOf url_of_;
  bool proxied_;
  std::map<std::string, std::vector<std::unique_ptr<test::Proxy>>> ways_;
  std::set<int> given_up_;
  std::optional<int> moved_to_;  // the port of the new master
};

}  // namespace holdfast::lab
