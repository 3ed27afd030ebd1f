// SharedGroup: the group whose members share a lock database (?group=NAME). Root always belongs to it.
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "holdfast/result.h"

namespace holdfast::internal {

class SharedGroup {
 public:
  // misconfigured if there is no such group, or this process is not in it.
  static Result<SharedGroup> find(const std::string& name);

  gid_t id() const { return id_; }
  const std::string& name() const { return name_; }
  // True for root, for this process' user, and for whom the user database names as a member.
  bool has(uid_t user) const;

 private:
  SharedGroup(gid_t id, std::string name) : id_(id), name_(std::move(name)) {}
  bool is_member(uid_t user) const;

  gid_t id_;
  std::string name_;
  mutable std::map<uid_t, bool> known_;  // to ask the user database can mean to ask a server
};

}  // namespace holdfast::internal
