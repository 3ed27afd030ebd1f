// Keys: how locks are laid out in etcd. Pure.
//
//   PREFIX NAME/IIII…            exclusive; I: the claim's slot (key_slots.h), 32 hexadecimal digits;
//                                for one that outlives its process, its id
//   PREFIX NAME/~sIIII…          shared
//   PREFIX NAME/~pNNNNNNNNNN-II… one of N permits
//   PREFIX NAME/LLLL             anything else, such as the lease ids that etcdctl lock and Go's
//                                concurrency package put there: exclusive, of a foreign client
//
//   PREFIX NAME~record           the record of that name, on no lease. No lock has it in its queue: there is no / in it
//                                behind the prefix.
//
// All keys of a lock form one queue, in the order of their create revisions, and the revision
// is the fencing token. In a name, / and % are written %2F and %25: else the keys of the lock "a/b"
// would be in the queue of the lock "a".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engines/etcd/messages.h"
#include "holdfast/engine.h"

namespace holdfast::internal::etcd {

struct Keys {
  Keys(const std::string& prefix, const Name& name);

  // The claim's key in that slot; in the slot that is as its id.
  std::string at(const Claim& claim, const ClaimId& slot) const;
  std::string of(const Claim& claim) const { return at(claim, claim.id); }

  std::string base;  // "PREFIX NAME/"
  std::string end;   // behind all keys that begin so
  // The keys that are not shared ones are before the first and from the second on; likewise the
  // permits of another number than N.
  std::string shared_begin;
  std::string shared_end;
  std::string permits_begin;
  std::string permits_end;
  std::string permits_begin_of(std::uint32_t permits) const;
  std::string permits_end_of(std::uint32_t permits) const;
};

// Behind all keys that begin with `prefix`; "\0", which stands for no end, if there is none.
std::string end_of_prefix(std::string prefix);

// The value of our keys: the rest of the claim. Those of foreign clients are empty, as a rule.
struct Note {
  std::optional<ClaimId> id = {};  // of the claim; if there is none, its key has it
  bool granted = false;            // the claim had to wait, and holds now
  Duration ttl{};
  WallTime since{};  // when it came
  std::string label;

  std::string encode() const;
  static std::optional<Note> parse(std::string_view value);
};

// As etcdctl prints it.
std::string lease_text(LeaseId lease);

// One in the queue.
struct Entry {
  std::string key;
  Revision created = 0;
  LeaseId lease = 0;
  bool foreign = true;
  ClaimId id;  // of a foreign one: made up from its key
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 1;
  Note note;

  // For people.
  std::string label() const;
};

Entry entry_of(const Keys& keys, const KeyValue& pair);

// The lock that a key belongs to; nothing if it is not one that we could ask for.
std::optional<Name> name_of(const std::string& prefix, std::string_view key);
std::string record_key(const std::string& prefix, const Name& name);
// The name of the record that is kept there; nothing if it is none.
std::optional<Name> name_of_record(const std::string& prefix, std::string_view key);
// How a name begins as a part of a key.
std::string escaped_name(std::string_view name);

}  // namespace holdfast::internal::etcd
