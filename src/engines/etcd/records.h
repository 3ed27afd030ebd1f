// Records: the value of a key each, on no lease. Inside the loop only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/etcd/cluster.h"

namespace holdfast::internal::etcd {

class Records {
 public:
  explicit Records(Cluster& cluster) : cluster_(cluster) {}

  Task<Result<std::optional<std::string>>> read(Name name, Deadline deadline);
  // One transaction, which shows what is there if that was not expected.
  Task<Result<bool>> swap(Name name, std::optional<std::string> expected,
                          std::optional<std::string> value, Deadline deadline);
  Task<Result<std::vector<Record>>> list(std::string prefix, Deadline deadline);

 private:
  Cluster& cluster_;
};

}  // namespace holdfast::internal::etcd
