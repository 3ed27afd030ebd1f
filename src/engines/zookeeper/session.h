// Session: what ZooKeeper ties our nodes to. It lives on the servers, outlives a connection, and
// moves from server to server with it.
//
//   none ──opened──► attached ◄──moved to the next server──► detached ──too long──► expired = none
//
// "detached" is not "expired": the nodes are there, the waits go on, and only the time runs. A
// session learns its expiry from a server, never from the clock; until when a session surely lives is said
// by its SessionProof. After an expiry the next call opens another session, which has a new
// incarnation(): what belonged to the old one is gone.
//
// One for each ttl that claims ask for, shared by all of them. Inside the loop only.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engines/zookeeper/connection.h"
#include "engines/zookeeper/session_proof.h"
#include "engines/zookeeper/settings.h"
#include "holdfast/runtime.h"
#include "wire/reopening.h"

namespace holdfast::internal::zookeeper {

// Lets another process take a session over.
struct SessionKey {
  std::int64_t id = 0;
  std::string password;
};

class Session final : private ConnectionListener {
 public:
  // A ttl that is believed must end before the session can: by the half that is on top of it.
  // (See SessionProof: 0.3 of the timeout for what may be on its way, the rest for our pings.)
  static Duration timeout_for(Duration ttl) { return ttl + ttl / 2; }

  // With `key` it is that session or none: if it has expired, calls fail with not_held.
  Session(Runtime& runtime, const Settings& settings, Duration timeout,
          std::optional<SessionKey> key = std::nullopt);
  ~Session();

  // It expired, and all nodes of it are gone.
  std::function<void()> on_expired;

  // unreachable, misconfigured, not_held: they never left. unknown: they left, and not all replies
  // came. An error of the server's is a Reply.
  Task<Result<Answers>> call(Requests requests, Deadline deadline, std::stop_token stop = {});
  // The same for what can be asked twice: if the connection breaks, it is asked again on the next.
  Task<Result<Answers>> ask(Requests requests, Deadline deadline, std::stop_token stop = {});
  // Attaches it to a server, if it is not.
  Task<Result<void>> open(Deadline deadline, std::stop_token stop = {});

  bool attached() const { return connection_ && ready_; }
  std::uint64_t incarnation() const { return incarnation_; }
  const SessionKey& key() const { return key_; }
  // As the server granted it: more or less than was asked for. REQUIRES: it was opened.
  Duration timeout() const { return proof_.timeout(); }
  const SessionProof& proof() const { return proof_; }

  // A watch that is set by a request of the caller's, made before that is sent; set again when the
  // session moves. It tells once.
  class Watch;
  // The node of a claim that waits: looked after by the session, which proves by it every now and
  // then that it lives itself.
  class Vouched;
  // While there is one, the session is kept attached.
  class Use;
  bool in_use() const { return uses_ > 0; }

  // The server refused a request: for the observer.
  void report_refusal(const Failure& why) const;

  // Ends it, and with it all its nodes.
  Task<void> close(Deadline deadline);
  // Leaves it on the server, for whoever has its key; it expires unless somebody comes.
  void leave_behind();

 private:
  Task<Result<void>> try_to_open();
  // Nothing to say to the next server if the first word of this one was final.
  Task<Result<void>> try_server(const Endpoint& endpoint, Deadline deadline);
  void report_try(const Endpoint& endpoint, const Result<void>& tried) const;
  void on_event(const WatchEvent& event) override;
  void on_answered(BootTime sent_at, bool write, std::int64_t zxid) override;
  void on_closed(const std::string& why) override;
  void drop(const std::string& why);
  void expire();
  void set_watches_again();
  Task<void> keep_alive();
  Task<void> look_after(Deadline deadline);
  // How long a server may leave us without an answer.
  Duration patience() const;
  Failure failed(Code code, const std::string& why) const;

  Runtime& runtime_;
  const Settings& settings_;
  const Duration wanted_timeout_;
  const bool adopted_;
  std::vector<Endpoint> servers_;  // in the order in which they are tried
  std::size_t next_server_ = 0;
  SessionKey key_;
  std::uint64_t incarnation_ = 1;
  std::int64_t last_zxid_ = 0;
  std::optional<BootTime> turned_away_since_;  // by all servers, each time
  SessionProof proof_;
  std::unique_ptr<Connection> connection_;
  bool ready_ = false;
  bool over_ = false;           // closed, or left behind
  bool may_come_back_ = false;  // somebody has been there, if only to say no
  std::uint64_t closings_ = 0;
  int uses_ = 0;
  std::multimap<std::string, Watch*> watches_;
  std::list<Vouched*> vouched_;
  bool looking_ = false;
  bool keeping_ = false;
  Event woken_;  // there is something to do for keep_alive()
  TaskGroup background_;
  Reopening reopening_;  // Last: its task ends before what it uses.
};

class Session::Watch {
 public:
  enum class Kind { data, children };
  // `then` is called when it fires, not when the session expires.
  Watch(Session& session, Kind kind, std::string path, Event& told,
        std::function<void()> then = nullptr);
  ~Watch() { session_.watches_.erase(place_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  bool fired() const { return type_.has_value(); }
  const std::string& path() const { return place_->first; }
  // True if the data of the node was written, which happened while we looked: the watch was not
  // set again on another server, which could have it from before.
  bool saw_data_change() const { return type_ == WatchEvent::Type::data_changed && !set_again_; }

 private:
  friend class Session;
  Session& session_;
  const Kind kind_;
  Event& told_;
  const std::function<void()> then_;
  std::multimap<std::string, Watch*>::iterator place_;
  std::optional<WatchEvent::Type> type_;
  bool set_again_ = false;
};

class Session::Vouched {
 public:
  Vouched(Session& session, std::string path, Event& told);
  ~Vouched() { session_.vouched_.erase(place_); }
  Vouched(const Vouched&) = delete;
  Vouched& operator=(const Vouched&) = delete;

  bool gone() const { return gone_; }

 private:
  friend class Session;
  Session& session_;
  const std::string path_;
  Event& told_;
  std::list<Vouched*>::iterator place_;
  bool gone_ = false;
};

class Session::Use {
 public:
  explicit Use(std::shared_ptr<Session> session) : session_(std::move(session)) {
    ++session_->uses_;
  }
  ~Use() { --session_->uses_; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Session& session() const { return *session_; }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace holdfast::internal::zookeeper
