// Examiner: knows the PostgreSQL server of a client. Asks what it is when a connection is opened, but not with each
// of many. Inside the loop only, but for guarantees().
#pragma once

#include <string>

#include "base/known_server.h"
#include "engines/postgres/facts.h"
#include "sql/postgres/settings.h"

namespace holdfast::internal::postgres {

class Examiner final : public ServerExaminer {
 public:
  Examiner(Runtime& runtime, Settings settings, Guarantees promised)
      : runtime_(runtime), settings_(std::move(settings)), known_(std::move(promised)) {}

  const Guarantees& guarantees() const override { return known_.guarantees(); }
  // On a connection of its own, and a second one that tells whether a proxy pools transactions.
  Task<Result<Examination>> examine(Deadline deadline) override;

  // Before anything else is asked on a new connection. misconfigured if this server is unfit.
  Task<Result<void>> meet(PostgresConnection& connection, Deadline deadline);

 private:
  Task<Result<void>> look_at_rights(PostgresConnection& connection, Facts& facts,
                                    Deadline deadline);
  Task<void> look_for_pool(PostgresConnection& connection, Facts& facts, Deadline deadline);

  Runtime& runtime_;
  Settings settings_;
  KnownServer known_;
  BootTime ask_again_at_{};
};

}  // namespace holdfast::internal::postgres
