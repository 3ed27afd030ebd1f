// NameChain: pushes a lock to its next holder. MySQL has no NOTIFY; it has GET_LOCK. Each claim that had to queue has
// a name, which its client holds in the server until the claim is released. The claim behind it sleeps there until
// it gets that name, and reads the row in the same request. So a release, which frees the name behind the lock in
// one request, wakes the next holder in one round trip, and nobody else.
//
// The row decides, the names only wake, and tell which waiters are alive. How it can go wrong, and what happens then:
//   the claim before has no name (it did not queue, or it shares the lock)   the one behind it gets the name at once,
//                and looks at the row at a growing pace: it waits at most 5 % longer than it must. A holder that
//                renews, and sees that it is waited for, takes its name then.
//   the claim before stops, with its name   nobody sleeps for longer than 2 s without a look at the row
//   the connection with the names breaks    it is opened anew, and the names are taken again; meanwhile our waiters
//                are taken for dead, and may lose their place. A name that another session still has (our old one,
//                whose end the server has not seen) is asked for again until we have it.
//   a row that somebody keeps locked blocks the connection with the names    releases of other locks use the pool
//   a session that sleeps breaks            the engine's own looks find what was missed
// Only so many locks have a session to sleep in; the others are looked at in turn.
//
// No two clients wait for each other: the session that has the names never waits, and those that wait have none.
// Inside the loop only.
#pragma once

#include <list>
#include <map>
#include <unordered_set>

#include "engines/mysql/table_database.h"
#include "engines/table/waking.h"
#include "wire/reopening.h"

namespace holdfast::internal::mysql {

class NameChain final : public table::Waking {
 public:
  NameChain(Runtime& runtime, TableDatabase& database);

  Task<Result<void>> listen(Deadline deadline, std::stop_token stop) override;
  void now_waiting(const std::string& key) override;
  void close() override;

  // Sends a request on the connection that has the names, one at a time. Without a connection, or if it stays busy:
  // lost, not run.
  Task<SqlOutcome> run(std::vector<SqlStatement> statements, Deadline deadline);
  bool has_name(const ClaimId& claim) const { return named_.contains(claim); }
  // A request that was sent by run() took the claim's name, or gave it back.
  void took_name(const ClaimId& claim) { named_.insert(claim); }
  void gave_name(const ClaimId& claim) { named_.erase(claim); }
  // It may not have the claim's name: takes it in the background, as soon as it can be had.
  void want_name(const ClaimId& claim);
  // The same with requests of their own.
  Task<void> take_name(ClaimId claim, Deadline deadline);
  Task<void> give_name(ClaimId claim, Deadline deadline);

  // The claim stands in the queue of this key, behind `before`. `version`: of the row when it was put there, at the
  // end; 0 if it stood there already. Answers may come in another order than the server has the claims in, and the
  // session that sleeps for the wrong one of two misses the grant of the other.
  void queued(const std::string& key, const ClaimId& claim, const std::optional<ClaimId>& before,
              std::uint64_t version);
  // The lock was changed by this client: its waiters look at once.
  void look_soon(const std::string& key);

 private:
  // A claim's place in a queue. It keeps it while it is told something, looks, and waits again.
  struct QueueEntry {
    ClaimId claim;
    std::uint64_t number = 0;       // another one each time that it queues
    std::uint64_t version = 0;      // of the row when it did; they have the order of the queue
    std::optional<ClaimId> before;  // as last seen
  };
  // One lock that claims of this client wait for.
  struct Wait {
    Wait(Runtime& runtime, std::string its_key) : key(std::move(its_key)), changed(runtime) {}
    std::string key;
    std::unique_ptr<MariadbConnection> connection;
    std::list<QueueEntry> line;       // of this client, in the order of the queue
    std::optional<ClaimId> nameless;  // the last that was found to have no name
    BootTime nameless_until{};        // when it is asked for again
    BootTime looks_since{};           // when it began to look at a growing pace
    Event changed;                    // somebody waits, or should look
  };

  Task<Result<void>> open_names();
  Task<void> keep_names();
  Task<void> retake();
  // By the answers to take_statements().
  void note_taken(const std::vector<ClaimId>& claims, const SqlOutcome& answers);
  Task<void> free_name(ClaimId claim, Deadline deadline);
  Task<SqlOutcome> run_by(std::vector<SqlStatement> statements, Deadline idle_by,
                          Deadline deadline);
  Wait& wait_at(const std::string& key);
  Task<void> serve(std::shared_ptr<Wait> wait);
  // The first of ours that stands in the queue, if any.
  std::optional<QueueEntry> first_of(Wait& wait) const;
  Task<void> connect(Wait& wait);
  void hang_up(Wait& wait);
  Task<void> sleep_behind(Wait& wait, QueueEntry entry);
  Task<void> look(Wait& wait, QueueEntry entry);
  Task<void> pause(Wait& wait, Duration shortest);
  // A claim of ours waits, and has not been told that it was granted.
  bool is_awaited(const std::string& key, const ClaimId& claim) const;
  // Takes over what `look` says of the place in the queue and of the holder.
  void note_look(Wait& wait, const QueueEntry& entry, const SqlRows& row);
  // Tells our claims what they were granted, by what `look` says.
  void tell(Wait& wait, const SqlRows& row);

  Runtime& runtime_;
  TableDatabase& database_;
  std::shared_ptr<MariadbConnection> names_;
  Event names_idle_;
  std::unordered_set<ClaimId> named_;
  std::unordered_set<ClaimId> untaken_;  // of those: the connection may not have them
  bool retaking_ = false;
  Reopening reopening_;
  bool keeping_ = false;
  std::map<std::string, std::shared_ptr<Wait>> waits_;
  std::uint64_t last_number_ = 0;
  std::size_t sessions_ = 0;  // that waits have, or open
  TaskGroup background_;      // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::mysql
