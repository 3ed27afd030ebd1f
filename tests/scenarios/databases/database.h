// Database: a MariaDB or a PostgreSQL as the scenarios need them: leases of any recipe, and sessions of
// a test's own for data that lives in the same database.
#pragma once

#include <memory>
#include <string>

#include "holdfast/sql.h"
#include "movable_clock.h"

namespace holdfast::scenarios {

// A program's own connection.
class Session {
 public:
  virtual ~Session() = default;
  // The first cell. Throws std::runtime_error if the server refuses, or the connection is gone.
  virtual std::string value(const std::string& statement) = 0;
  // Ends the session if it says nothing for a second inside a transaction.
  virtual void be_impatient() = 0;
};

class Database {
 public:
  virtual ~Database() = default;
  virtual sql::Dialect dialect() const = 0;
  virtual int port() const = 0;
  // What Holdfast opens; `port` is the server's own or a proxy's.
  virtual std::string url(int port, const std::string& recipe) const = 0;
  virtual std::unique_ptr<Session> session(int port) const = 0;
  // Kills every session but its own: KILL, pg_terminate_backend.
  virtual void kill_sessions() = 0;
  virtual test::MovableClock& clock() = 0;
};

// Made when it is first asked for, and kept for the tests that follow. "mysql" or "postgres".
Database& database(const std::string& name);

}  // namespace holdfast::scenarios
