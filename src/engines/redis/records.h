// Records: each in a string of its own, `{NAME}:hf:d`, that never expires. Inside the loop only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/redis/command_executor.h"
#include "holdfast/engine.h"

namespace holdfast::internal::redis {

class Records {
 public:
  explicit Records(CommandExecutor& executor) : executor_(executor) {}

  Task<Result<std::optional<std::string>>> read(Name name, Deadline deadline);
  // wait_replicas counts here, too: one that too few replicas confirmed is `unknown`.
  Task<Result<bool>> swap(Name name, std::optional<std::string> expected,
                          std::optional<std::string> value, Deadline deadline);
  Task<Result<std::vector<Record>>> list(std::string prefix, Deadline deadline);
  // In a cluster always of the same master, whoever asks.
  Task<Result<std::optional<WallTime>>> server_time(Deadline deadline);

 private:
  Keys keys_of(const std::string& prefixed_name) const;
  // Those whose names these are; one that was removed or moved away meanwhile is left out.
  Task<Result<void>> read_all(Node& node, std::vector<std::string> prefixed_names,
                              std::vector<Record>& all, Deadline deadline);

  CommandExecutor& executor_;
  Script read_{read_record_source(), {}};
  Script swap_{swap_record_source(), {}};
  Script time_{time_source(), {}};
};

}  // namespace holdfast::internal::redis
