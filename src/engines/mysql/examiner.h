// Examiner: knows the MySQL server of a client. Asks what it is when a connection is opened, but not with each of
// many. Inside the loop only, but for guarantees().
#pragma once

#include "base/known_server.h"
#include "engines/mysql/facts.h"
#include "sql/mysql/settings.h"

namespace holdfast::internal::mysql {

class Examiner final : public ServerExaminer {
 public:
  Examiner(Runtime& runtime, Settings settings, Guarantees promised)
      : runtime_(runtime), settings_(std::move(settings)), known_(std::move(promised)) {}

  const Guarantees& guarantees() const override { return known_.guarantees(); }
  // On a connection of its own.
  Task<Result<Examination>> examine(Deadline deadline) override;

  // Before anything else is asked on a new connection. misconfigured if this server is unfit.
  Task<Result<void>> meet(MariadbConnection& connection, Deadline deadline);

 private:
  Task<void> look_at_rights(MariadbConnection& connection, Facts& facts, Deadline deadline);

  Runtime& runtime_;
  Settings settings_;
  KnownServer known_;
  BootTime ask_again_at_{};
};

}  // namespace holdfast::internal::mysql
