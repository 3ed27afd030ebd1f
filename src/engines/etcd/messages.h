// The part of etcd's API (etcdserverpb, version 3) that locks need. Requests are encoded at once; answers are
// decoded into plain values. Decoding fails on malformed bytes and skips unknown fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::internal::etcd {

using LeaseId = std::int64_t;
using Revision = std::int64_t;

struct Header {
  Revision revision = 0;
  std::uint64_t term = 0;  // of the leader that the member follows
};

struct KeyValue {
  std::string key;
  std::string value;
  Revision created = 0;
  Revision modified = 0;
  LeaseId lease = 0;
};

// ---- Requests ----------------------------------------------------------------------------------

struct Range {
  std::string key;
  std::string end;  // empty: this key alone
  std::int64_t limit = 0;
  enum class Order { by_key, oldest_first, newest_first } order = Order::by_key;
  Revision created_until = 0;  // 0: any
  bool keys_only = false;
};

std::string encode(const Range& range);
// Removes a key, and shows what it was.
std::string encode_remove(std::string_view key);
std::string encode_lease_grant(std::int64_t ttl_s);
std::string encode_lease(LeaseId id);  // revoke, keep alive, time to live
std::string encode_authenticate(std::string_view user, std::string_view password);
// From the next revision on. The server answers with `id`.
enum class Tell {
  everything,
  ends,             // removals only
  ends_and_before,  // with what the key was; that costs etcd another look
};
std::string encode_watch(std::string_view key, std::string_view end, std::int64_t id, Tell tell);
std::string encode_watch_cancel(std::int64_t id);

// if all the comparisons hold, then these, else those: all at one revision.
class Txn {
 public:
  // The key was created at `revision` (0: it is not there); with an end: every key of the range,
  // and there may be none if `revision` is 0.
  Txn& if_created_at(std::string_view key, Revision revision, std::string_view end = {});
  Txn& if_present(std::string_view key);
  // It is there, with this value.
  Txn& if_value(std::string_view key, std::string_view value);

  enum class Branch { then, otherwise };
  Txn& put(Branch branch, std::string_view key, std::string_view value, LeaseId lease);
  // Changes the value of a key that is there, and leaves its lease as it is.
  Txn& put_value(Branch branch, std::string_view key, std::string_view value);
  // Hangs a key that is there on another lease, and leaves its value as it is.
  Txn& put_lease(Branch branch, std::string_view key, LeaseId lease);
  Txn& remove(Branch branch, std::string_view key);
  Txn& range(Branch branch, const Range& range);

  std::string encode() const { return out_; }

 private:
  Txn& compare(std::string_view key, std::string_view end, int result, Revision revision);
  Txn& request(Branch branch, int operation, std::string_view request);

  std::string out_;
};

// ---- Answers -----------------------------------------------------------------------------------

struct RangeAnswer {
  Header header;  // not within a transaction
  std::vector<KeyValue> pairs;
  std::int64_t count = 0;  // without the limit
};

struct TxnAnswer {
  Header header;
  bool succeeded = false;
  // One per request of the branch that was taken; empty ones for puts and removals.
  std::vector<RangeAnswer> parts;

  // The first pair of a part, if there is one.
  const KeyValue* first(std::size_t part) const;
};

struct LeaseAnswer {
  Header header;
  LeaseId id = 0;
  std::int64_t ttl_s = 0;  // 0 or less: there is no such lease
};

struct WatchEvent {
  bool removed = false;
  KeyValue pair;
  std::optional<KeyValue> before;  // what a removed key was, where that was asked for
};

struct WatchAnswer {
  Header header;
  std::int64_t id = 0;
  bool created = false;
  bool cancelled = false;
  std::string cancel_reason;
  std::vector<WatchEvent> events;
};

std::optional<RangeAnswer> decode_range(std::string_view bytes);
std::optional<TxnAnswer> decode_txn(std::string_view bytes);
// The removed keys.
std::optional<std::vector<KeyValue>> decode_remove(std::string_view bytes);
// Grant, keep alive and time to live have the same fields.
std::optional<LeaseAnswer> decode_lease(std::string_view bytes);
std::optional<WatchAnswer> decode_watch(std::string_view bytes);
// The token.
std::optional<std::string> decode_authenticate(std::string_view bytes);

}  // namespace holdfast::internal::etcd
