// Records: the data of a node each, below one that no lock can have. Inside the loop only.
//
//   CHROOT/%records/NAME     "+" and the record; empty where it was removed
//
// A node stays when its record is removed: its version would begin anew with it, and a swap that had read the old one
// could not tell the new one from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/zookeeper/lock_nodes.h"

namespace holdfast::internal::zookeeper {

class Records {
 public:
  Records(Runtime& runtime, LockNodes& nodes, const Access& access)
      : runtime_(runtime), nodes_(nodes), access_(access) {}

  Task<Result<std::optional<std::string>>> read(std::shared_ptr<Session> session, Name name,
                                                Deadline deadline);
  Task<Result<bool>> swap(std::shared_ptr<Session> session, Name name,
                          std::optional<std::string> expected, std::optional<std::string> value,
                          Deadline deadline);
  Task<Result<std::vector<Record>>> list(std::shared_ptr<Session> session, std::string prefix,
                                         Deadline deadline);

 private:
  struct Found {
    std::optional<std::string> value;
    std::optional<std::int32_t> version;  // of its node, if there is one
  };
  std::string root() const;
  // As it is now, through whatever server.
  Task<Result<Found>> look(Session& session, std::string path, Deadline deadline);
  struct Written {
    bool done = false;      // false: the node is another one by now
    bool repeated = false;  // an attempt without an answer may have been executed
  };
  Task<Result<Written>> write(Session& session, std::string path,
                              std::optional<std::int32_t> version, std::string data,
                              Deadline deadline);

  Runtime& runtime_;
  LockNodes& nodes_;
  const Access& access_;
};

}  // namespace holdfast::internal::zookeeper
