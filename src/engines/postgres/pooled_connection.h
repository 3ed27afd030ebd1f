// PooledConnection: a connection through a proxy that pools transactions (PgBouncer's pool_mode=transaction): each
// transaction may have another session of the server's, which other programs use before and after us. So each request is
// one transaction, brings its settings with it (they end with the transaction), and prepares nothing. Inside the loop
// only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wire/postgres_connection.h"

namespace holdfast::internal::postgres {

class PooledConnection final : public SqlConnection {
 public:
  // `settings`: a statement that sets what holds until the end of a transaction.
  PooledConnection(std::unique_ptr<PostgresConnection> inner, SqlStatement settings)
      : inner_(std::move(inner)), settings_(std::move(settings)) {}

  bool connected() const override { return inner_->connected(); }
  Event& lost() override { return inner_->lost(); }
  void close() override { inner_->close(); }
  void give_up(const std::string& why) override { inner_->give_up(why); }

 private:
  // Makes a transaction of a request that is none: after an error nothing was executed.
  Task<SqlOutcome> exchange(const std::vector<SqlStatement>& asked, Deadline deadline,
                            std::stop_token stop) override;

  std::unique_ptr<PostgresConnection> inner_;
  const SqlStatement settings_;
  bool open_ = false;  // a transaction that an earlier request began
};

}  // namespace holdfast::internal::postgres
