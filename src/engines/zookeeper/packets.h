// Packets: what we ask a ZooKeeper server, and what it answers.
//
// A request is a header (a number that its reply repeats, and the operation) and a record. A reply
// is a header (the number, the server's last transaction, an error) and, without an error, a
// record. Numbers below zero are special: -1 a watch that fired, -2 a ping, -4 a login, -8 watches
// that are set again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/zookeeper/jute.h"

namespace holdfast::internal::zookeeper {

enum class Op : std::int32_t {
  create = 1,
  remove = 2,
  get_data = 4,
  set_data = 5,
  get_children = 8,
  sync = 9,
  ping = 11,
  check = 13,
  multi = 14,
  create2 = 15,
  create_container = 19,
  auth = 100,
  set_watches = 101,
  close_session = -11,
};

// True if its answer is a majority's.
bool is_write(Op op);

inline constexpr std::int32_t kEventXid = -1;
inline constexpr std::int32_t kPingXid = -2;
inline constexpr std::int32_t kAuthXid = -4;
inline constexpr std::int32_t kSetWatchesXid = -8;

// Errors that are told apart; there are more.
enum class Error : std::int32_t {
  none = 0,
  runtime_inconsistency = -2,  // of a step in a transaction that another step has spoilt
  connection_loss = -4,
  unimplemented = -6,
  bad_arguments = -8,
  no_node = -101,
  no_auth = -102,
  bad_version = -103,
  no_children_for_ephemerals = -108,
  node_exists = -110,
  not_empty = -111,
  session_expired = -112,
  invalid_acl = -114,
  auth_failed = -115,
  session_moved = -118,
  not_readonly = -119,
  quota_exceeded = -125,
  throttled = -127,
};
// "no such node (-101)"
std::string describe(Error error);

enum class CreateMode : std::int32_t {
  persistent = 0,
  ephemeral = 1,
  ephemeral_sequential = 3,
  container = 4,
};

// The access rights of nodes that we make.
struct Access {
  std::string scheme;  // "world" or "auth"
  std::string id;      // "anyone" or ""
};

struct Stat {
  std::int64_t czxid = 0;  // the transaction that created the node
  std::int64_t mzxid = 0;
  std::int64_t ctime_ms = 0;  // by the leader's clock
  std::int32_t version = 0;   // how often its data was changed
  std::int64_t owner = 0;     // the session of an ephemeral node
  static Stat from(JuteReader& reader);
};

// Several requests that are sent in one write. They get their numbers when they are sent.
class Requests {
 public:
  void create(Op op, const std::string& path, std::string_view data, const Access& access,
              CreateMode mode);
  void remove(const std::string& path, std::int32_t version = -1);
  void get_data(const std::string& path, bool watch);
  void set_data(const std::string& path, std::string_view data, std::int32_t version);
  void get_children(const std::string& path, bool watch);
  void close_session();

  // One transaction: all of its steps, or none.
  class Transaction;

  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  // Their bytes, with numbers from `first` on.
  std::string numbered(std::int32_t first) &&;
  // The operation of each.
  const std::vector<Op>& ops() const { return ops_; }

 private:
  // Where the packet's length goes; end() writes it.
  std::size_t begin(Op op);
  void end(std::size_t place);

  std::string bytes_;
  std::vector<std::size_t> places_;  // of the numbers in bytes_
  std::vector<Op> ops_;
};

class Requests::Transaction {
 public:
  explicit Transaction(Requests& requests)
      : requests_(requests), place_(requests.begin(Op::multi)), writer_(requests.bytes_) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void check(const std::string& path, std::int32_t version);
  void create(const std::string& path, std::string_view data, const Access& access,
              CreateMode mode);
  void set_data(const std::string& path, std::string_view data, std::int32_t version);
  void remove(const std::string& path, std::int32_t version);

 private:
  void header(Op op);

  Requests& requests_;
  std::size_t place_;
  JuteWriter writer_;
};

// The answer to one request.
struct Reply {
  Error error = Error::none;
  std::string path;                   // create
  std::optional<Stat> stat;           // create2, get_data, set_data
  std::string data;                   // get_data
  std::vector<std::string> children;  // get_children
  std::vector<Error> steps;           // multi: one for each step

  bool ok() const { return error == Error::none; }
};
// Nothing if the record makes no sense.
std::optional<Reply> parse_reply(Op op, Error error, std::string_view record);

struct ReplyHeader {
  std::int32_t xid = 0;
  std::int64_t zxid = 0;
  Error error = Error::none;
  std::string_view record;
};
std::optional<ReplyHeader> parse_header(std::string_view packet);

// A watch that fired.
struct WatchEvent {
  enum class Type { created = 1, deleted = 2, data_changed = 3, children_changed = 4 };
  Type type{};
  std::string path;
};
// Nothing if it makes no sense; without a path if it is about the connection, not a node.
std::optional<WatchEvent> parse_event(std::string_view record);

// The first words on a connection.
struct Greeting {
  std::int64_t last_zxid = 0;  // a server that knows less refuses
  std::int32_t timeout_ms = 0;
  std::int64_t session = 0;  // 0: a new one
  std::string password;
};
std::string encode(const Greeting& greeting);

struct Welcome {
  std::int32_t timeout_ms = 0;  // 0: that session is over
  std::int64_t session = 0;
  std::string password;
};
std::optional<Welcome> parse_welcome(std::string_view packet);

std::string encode_ping();
std::string encode_login(const std::string& scheme, std::string_view secret);
std::string encode_set_watches(std::int64_t seen_zxid, const std::vector<std::string>& data,
                               const std::vector<std::string>& children);

}  // namespace holdfast::internal::zookeeper
