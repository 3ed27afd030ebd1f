// Engine: the system that keeps the lock. Anyone can write one: implement this interface, pass the
// contract suite (tests/contract), and hand it to Client::over() or register a URL scheme.
//
// Thread safety: an engine is used inside the loop of one client only (see runtime.h), so it needs
// no locks. Several of its coroutines can be under way at once.
//
// Every engine promises its caller:
//  - Everything is idempotent by Claim::id. acquire() with an id that already holds returns the
//    same token; release() with an id that does not hold or wait changes nothing.
//  - renew() and release() act only if this very claim holds. renew() never creates a hold.
//  - A failed acquire() leaves nothing behind, except when it fails with Code::unknown: then the
//    caller cleans up with release().
//  - Grant::counted_from is read before the request left, never when the reply came.
//  - Every call ends by its deadline (acquire: its Wait's), give or take a moment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/ids.h"
#include "holdfast/result.h"
#include "holdfast/runtime.h"
#include "holdfast/task.h"
#include "holdfast/time.h"

namespace holdfast {

struct Examination;  // examination.h

enum class Mode {
  exclusive,  // alone
  shared,     // together with other shared holders; queues behind a waiting exclusive claim
  permit,     // one of Claim::permits
};

HOLDFAST_API const char* mode_name(Mode mode);

// A caller's request for a lock.
struct Claim {
  Name name;
  ClaimId id{};  // of this attempt: what the engine knows it by
  // The same for all attempts of one call: the id of the first. A call that asks again after an unknown
  // outcome does so with another id, so that a release of the first attempt that is still under way cannot
  // end what the second one holds.
  ClaimId call{};
  // When the call began, by the boot clock: the same for all its attempts, so that one that asks again keeps
  // its place among those who wait. Zero: this attempt is the first.
  BootTime since{};
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 1;  // how many may hold at once; stored and checked (Mode::permit)
  Duration ttl{};
  std::string label{};  // any bytes, shown to others: who holds or waits
  // Whose claim this is, for find_deadlocks(): claims of one owner wait for each other's end. Kept beside the label;
  // engines see it as a part of that. See LockOptions::owner.
  std::string owner{};
  // True if the hold must survive this process (a handle for scripts): it ends by release or by
  // its ttl only, not when the process or session dies.
  bool outlives_process = false;
  // The exclusive side of a shared_mutex. Engines do not care, except where other programs name
  // their writers differently from their mutexes (Curator).
  bool among_readers = false;
};

// The answer to a claim that succeeded. The hold is surely valid until counted_from + ttl on a perfect clock;
// the lease subtracts drift.
struct Grant {
  Token token;
  BootTime counted_from;
  Duration ttl{};
};

// A claim that was granted.
struct Hold {
  Claim claim;
  Token token;
};

// How long and how a caller is willing to wait.
struct Wait {
  Deadline deadline = Deadline::never();
  bool queue = true;  // false: answer busy rather than wait
  std::stop_token stop{};
};

// ---- Guarantees as data -----------------------------------------------------------------------

enum class Exclusion {
  best_effort,        // can be lost without a fault of the holder (eviction, failover)
  bounded_by_clocks,  // holds while clocks advance at about the same rate
  linearizable,       // kept by consensus or by one durable store; the lease still ends by time
};
enum class TokenStrength { none, volatile_memory, durable_one_node, quorum, linearizable };
enum class WakeUp { poll, push };
enum class Fairness { none, roughly, fifo };

struct Guarantees {
  std::string engine;  // "sqlite"
  std::string recipe;  // "table"
  Exclusion exclusion = Exclusion::best_effort;
  TokenStrength token = TokenStrength::none;
  WakeUp wake_up = WakeUp::poll;
  Fairness fairness = Fairness::none;
  bool shared_mode = false;
  bool permit_mode = false;
  std::string no_permits_because;  // if there is more to say about it than that it is not there
  bool records = false;            // read_record() and its like
  std::string no_records_because;  // as above
  Duration min_ttl = std::chrono::milliseconds(10);
  std::string notes;  // what can break it, in a sentence or two
  // True if these are the guarantees of the server that answers; false: of the engine, before it was asked.
  bool of_server = false;
  std::string lowered_because;  // what of this server lowers them, and what mends that

  friend bool operator==(const Guarantees&, const Guarantees&) = default;
};

HOLDFAST_API const char* to_text(Exclusion value);
HOLDFAST_API const char* to_text(TokenStrength value);
HOLDFAST_API const char* to_text(WakeUp value);
HOLDFAST_API const char* to_text(Fairness value);

// ---- What list() and inspect() tell -----------------------------------------------------------

struct HolderInfo {
  ClaimId id;
  Mode mode = Mode::exclusive;
  Token token;
  std::string label;  // any bytes that the holder chose: show it as printable(label)
  std::string owner;  // Claim::owner; empty if the holder named none, or is no client of Holdfast
  std::optional<Duration> held_for;
  std::optional<Duration> expires_in;
  // How the holder is found in the engine itself: a lease, a session. For people;
  // never what gives a right to the lock. The values are the server's: printable(value).
  struct Detail {
    std::string name;
    std::string value;
  };
  std::vector<Detail> details;
};

struct WaiterInfo {
  ClaimId id;
  Mode mode = Mode::exclusive;
  std::string label;  // as above
  std::string owner;  // as above
  std::optional<Duration> waited_for;
};

struct LockInfo {
  Name name;
  // The highest ever granted for this name; zero if there was none, or the engine does not remember.
  Token last_token;
  std::uint32_t permits = 0;
  std::vector<HolderInfo> holders;
  std::vector<WaiterInfo> waiters;  // in the order in which they will be served
};

// The last thing done under a lock: a few bytes that an engine keeps under a name beside its locks, until somebody
// replaces them. A lock and a record of the same name know nothing of each other. See once.h.
struct Record {
  Name name;
  std::string value;
};
inline constexpr std::size_t kMaxRecordBytes = 2048;

// Wants to know that holds may have ended before their time.
class HOLDFAST_API DoubtListener {
 public:
  // About this claim's hold; null: about every hold of the client.
  virtual void on_doubt(const ClaimId* claim) = 0;

 protected:
  ~DoubtListener() = default;
};

class HOLDFAST_API Engine {
 public:
  virtual ~Engine() = default;

  // Null: nobody listens any more.
  void hear_doubts(DoubtListener* listener) { doubts_ = listener; }

  // Of the server that answers, where that is known (Guarantees::of_server). Called from any thread; the reference
  // stays valid as long as the engine.
  virtual const Guarantees& guarantees() const = 0;

  // Asks the server what it is, and what it is set to; connects if need be. A server that is unfit is an Examination
  // that says so, not a failure. From then on guarantees() are those of this server. The default knows nothing.
  virtual Task<Result<Examination>> examine(Deadline deadline);

  virtual Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) = 0;

  // One outcome per hold, in order. not_held is final; any other failure may be retried.
  virtual Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds,
                                                 Deadline deadline) = 0;

  // Ends the hold, or the wait, of this claim, and hands the lock to the next waiter. Succeeds
  // with true if it held, with false if there was nothing to end.
  virtual Task<Result<bool>> release(const Claim& claim, Deadline deadline) = 0;

  // Lets the hold survive this process from now on (see Claim::outlives_process).
  virtual Task<Result<void>> detach(const Hold& hold, Deadline deadline) = 0;

  // Locks whose names begin with `prefix` and that are held or waited for, sorted by name.
  virtual Task<Result<std::vector<LockInfo>>> list(const std::string& prefix,
                                                   Deadline deadline) = 0;
  virtual Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) = 0;

  // Ends the hold that has exactly this token, whoever owns it; not_held if there is none.
  virtual Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) = 0;

  // Returns when the newest holder's token differs from `known` (also when nobody holds: token 0).
  // The default asks again and again with a jittered pause; engines that can push override it.
  virtual Task<Result<LockInfo>> watch(const Name& name, Token known, const Wait& wait);

  // ---- Records: code `unsupported` with Guarantees::no_records_because, unless Guarantees::records --------------

  // The record of this name, as it was last stored anywhere; none if there is none.
  virtual Task<Result<std::optional<std::string>>> read_record(const Name& name, Deadline deadline);
  // Compare and set: stores `value` (none: removes the record) if the record is `expected` now (none: there is no
  // record). True: the record is `value`; also where it was already, because the reply to an earlier attempt was
  // lost. False: it is something else, and was not touched. Code::unknown: ask again, or read.
  virtual Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                         std::optional<std::string> value, Deadline deadline);
  // Records whose names begin with `prefix`, sorted by name.
  virtual Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                         Deadline deadline);
  // The server's wall clock, read between call and return; none if it cannot be asked for it.
  virtual Task<Result<std::optional<WallTime>>> server_time(Deadline deadline);

  // A descriptor whose inheritance by a child process keeps this client's holds from being taken
  // over early when this process dies; they still end by their ttl. -1 where there is none.
  virtual int liveness_descriptor() const { return -1; }

  // Frees connections; called once, when no other call is under way.
  virtual Task<void> close();

 protected:
  explicit Engine(Runtime& runtime) : runtime_(runtime) {}
  Runtime& runtime() const { return runtime_; }

  // Something happened that may have ended this hold, or without a claim any hold: a session
  // expired, a connection that carries locks broke. renew() is called for them at once, and where
  // it answers not_held the lease is declared lost, without waiting for its next renewal.
  void doubt(const std::optional<ClaimId>& claim = {}) {
    if (doubts_) doubts_->on_doubt(claim ? &*claim : nullptr);
  }

 private:
  Runtime& runtime_;
  DoubtListener* doubts_ = nullptr;
};

}  // namespace holdfast
