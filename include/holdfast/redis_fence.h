// RedisFence: data in Redis that only a current token can read or change. The check stands beside
// the data, in the same hash slot, and one script does both: no other client comes in between.
//
//   auto fence = holdfast::RedisFence::open("redis://127.0.0.1:6379").value();
//   auto sum = fence.get("ledger", *lease);              // raises the mark
//   if (!sum) return sum.failure();                      // stale_token: stop
//   auto written = fence.set("ledger", *lease, "11");
//
// The data is the plain key: any client may read it as it likes, none must write it without the
// fence. The mark is the highest token seen, in a key of its own without a time limit, and the
// highest exclusive one, in another: see fence.h for the rule, and docs/FENCING.md for the keys and
// for the same check from other clients and languages.
//
// It cannot promise more than the server keeps. A mark that the server loses (a restart
// without its data, a failover before the replica had it, eviction) is lower afterwards, and so
// may the data be older. With wait_replicas=N in the URL a call succeeds only when N replicas have
// what it did.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/async.h"
#include "holdfast/export.h"
#include "holdfast/ids.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/ticket.h"

namespace holdfast {

// Thread safety: all of it. It does not survive fork(): the child gets Code::forked from every call
// and must open its own.
//
// Every call ends within ClientOptions::request_timeout, a failover included. Failures of all of them, beside
// unreachable and those of the URL:
//
//   stale_token       somebody newer has been here; both tokens are in the message, nothing changed
//   invalid_argument  the token is 0 or a permit, or shared and this is no get(); the key is not 1 to
//                     16384 bytes, or has a name that Holdfast keeps for itself; or the key is the
//                     name of a lock in the same database, which would destroy the lock: give one
//                     of them another name or prefix
//   misconfigured     data or mark is something else than a string, or no mark; nothing changed
//   unknown           sent, not answered: it may have been done, or may be done yet, even after your
//                     next call with the same token. A newer token shuts it out.
class HOLDFAST_API RedisFence {
 public:
  // The URLs of the Redis engine: one server, sentinels, a cluster, TLS, prefix=. Nothing is sent
  // yet.
  static Result<RedisFence> open(std::string_view url, ClientOptions options = {});

  RedisFence(RedisFence&&) noexcept;
  RedisFence& operator=(RedisFence&&) noexcept;
  ~RedisFence();

  // Replaces the data. It has no time limit afterwards, whatever it had before.
  Result<void> set(std::string_view key, const Ticket& ticket, std::string_view value);
  // The data; nothing if the key does not exist. Raises the mark, as every read must.
  Result<std::optional<std::string>> get(std::string_view key, const Ticket& ticket);
  // Deletes the data; the mark stays. Succeeds also if there is none.
  Result<void> erase(std::string_view key, const Ticket& ticket);

  // The highest token seen, whatever its mode; 0 if none. Changes nothing.
  Result<Token> mark(std::string_view key);

  Async<Result<void>> async_set(std::string_view key, const Ticket& ticket, std::string_view value);
  Async<Result<std::optional<std::string>>> async_get(std::string_view key, const Ticket& ticket);
  Async<Result<void>> async_erase(std::string_view key, const Ticket& ticket);
  Async<Result<Token>> async_mark(std::string_view key);

  // The scripts, for a Redis client of your own. KEYS: script_keys() of the data. They answer
  // {1, mark} or {1, mark, data} if the token was admitted, {0, token} with the one that outranks it
  // if it is stale, and {-1, reason} if something is wrong; tokens are text.
  static const std::string& set_script();  // ARGV: token, "exclusive", value; no value: erase
  static const std::string& get_script();  // ARGV: token, "exclusive" or "shared"
  // The key of the mark that belongs to `key` (prefix included).
  static std::string mark_key(std::string_view key);
  // The keys that the scripts need: the data, its mark, the token key of the lock that must not have the same
  // name, and the highest exclusive token. All four are in one slot of a cluster.
  static std::vector<std::string> script_keys(std::string_view key);

 private:
  struct Impl;
  explicit RedisFence(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
