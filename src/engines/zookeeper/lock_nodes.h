// LockNodes: the steps that locks are made of, at one session: making a claim's node, reading a
// lock's queue, removing nodes. Each is one write to the server, whatever it consists of. Inside
// the loop only.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/adaptive_spin.h"
#include "engines/zookeeper/node_data.h"
#include "engines/zookeeper/paths.h"
#include "engines/zookeeper/queue.h"
#include "engines/zookeeper/session.h"

namespace holdfast::internal::zookeeper {

class LockNodes {
 public:
  explicit LockNodes(const Settings& settings) : settings_(settings) {}

  // The node that a lock's claims are children of.
  std::string lock_path(const Name& name) const {
    return settings_.chroot + '/' + escaped_name(name, settings_.chroot.empty());
  }
  // Where all locks are.
  std::string root() const { return settings_.chroot.empty() ? "/" : settings_.chroot; }

  struct Entered {
    std::string node;  // its name, without the path
    Token token;
    std::optional<std::vector<std::string>> children;
    std::uint64_t incarnation = 0;  // of the session
  };
  enum class Reading { queue, nothing };
  // Makes the claim's node, and the lock's if it is not there, and reads the queue, if that is
  // wanted: one round trip. unknown: the node may be there, or may still come.
  Task<Result<Entered>> enter(Session& session, const Claim& claim, std::string data,
                              Reading reading, Deadline deadline, std::stop_token stop);

  // The children of `path`; none if it is not there. `fresh`: all that was done before is seen,
  // through whatever server.
  Task<Result<std::vector<std::string>>> children_of(Session& session, std::string path, bool fresh,
                                                     Deadline deadline, std::stop_token stop = {});

  struct Removal {
    bool removed = false;   // it was there
    bool repeated = false;  // and if not: an attempt without an answer may have removed it
  };
  // Removes a claim's node, asking again until there is an answer. `held`: it is given back by its
  // holder, and the next in the queue may know (see queue.h).
  Task<Result<Removal>> remove(Session& session, std::string node_path, bool held,
                               Deadline deadline);

  // Whether the next claim of a lock is likely to be alone, and can do without reading the queue.
  bool likely_alone(const std::string& lock_path);
  // Whether it is. A guess that was wrong makes for fewer guesses.
  bool is_alone(const std::string& lock_path, const std::string& node, Token token);
  // A claim that held exclusively has been removed. `contended`: others were there.
  void left(const std::string& lock_path, const std::string& node, Token token, bool contended);

  // How an error reads to a user of the lock; the observer hears of it.
  Failure failure_of(const Session& session, Error error, const std::string& doing,
                     const std::string& path) const;

 private:
  Failure described(Error error, const std::string& doing, const std::string& path) const;
  Task<void> make_anew_if_used_up(Session& session, const std::string& node_path,
                                  Deadline deadline);
  Task<Result<void>> make_chroot(Session& session, Deadline deadline, std::stop_token stop);

  const Settings& settings_;
  // Locks whose nodes were there: they need not be made. Servers remove those that nobody uses.
  std::unordered_set<std::string> known_;
  // Locks that this client used alone when it last did.
  struct Habit {
    Former former;
    AdaptiveSpin guesses;
  };
  std::unordered_map<std::string, Habit> habits_;
  bool containers_ = true;  // the servers have them
};

}  // namespace holdfast::internal::zookeeper
