// ServerGroup: several database servers that replicate one another, of which one can be written. All connections of a
// client lead to that one: connect() finds it, and when another has taken its place, the connections to the old one
// are closed, and with them ends what their sessions hold. Shared by the connections. Inside the loop only.
//
// The group asks the servers again
//   when a connection is opened: first the one in use, the others beside it when it fails or is slow;
//   when the one in use answers that it can only be read: all connections to it are closed;
//   every kPace while there are connections: so a client leaves an old primary that nobody has fenced as soon as it
//   can see the new one.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "holdfast/engine.h"
#include "holdfast/runtime.h"
#include "wire/endpoint.h"
#include "wire/server_choice.h"
#include "wire/sql_connection.h"

namespace holdfast::internal {

class ServerGroup : public std::enable_shared_from_this<ServerGroup> {
 public:
  static constexpr std::size_t kMax = 16;
  static constexpr Duration kPace = std::chrono::seconds(5);

  // REQUIRES: at least two.
  explicit ServerGroup(std::vector<Endpoint> endpoints) : endpoints_(std::move(endpoints)) {}

  struct Candidate {
    std::unique_ptr<SqlConnection> connection;
    ServerState state;
  };
  // Connects to one server and asks what it is. Must not keep the group alive.
  using Ask = std::function<Task<Result<Candidate>>(const Endpoint&, Deadline)>;

  // A connection to the server that can be written. Fails as choose_server() does.
  Task<Result<std::unique_ptr<SqlConnection>>> connect(Runtime& runtime, Ask ask,
                                                       Deadline deadline);

  // For connections: this one's server said that it can only be read. May close the connection.
  void on_read_only(const SqlConnection& connection);
  void leave(const SqlConnection& connection);

  // All of them as one, for messages.
  Endpoint together() const;

 private:
  // The question that goes to all servers at a time.
  struct Survey;
  struct Member {
    SqlConnection* connection;
    std::size_t server;
  };

  Task<void> ask_one(Survey& survey, std::size_t server, Deadline deadline);
  // With `hurry`, the server in use is enough.
  Task<Result<std::size_t>> choose(Survey& survey, bool hurry, Deadline deadline);
  void use(std::size_t server);
  void close_all_but(std::optional<std::size_t> server);
  Task<void> watch(Runtime& runtime, Ask ask);

  const std::vector<Endpoint> endpoints_;
  std::optional<std::size_t> in_use_;
  std::uint64_t changes_ = 0;  // of in_use_
  std::int64_t timeline_ = 0;  // the latest that was seen
  std::list<Member> members_;
  bool watching_ = false;
  std::optional<TaskGroup> background_;  // Last: its tasks end before what they use.
};

// The promise of locks on such a group: replication may forget the newest commits.
Guarantees across_servers(Guarantees guarantees);

}  // namespace holdfast::internal
