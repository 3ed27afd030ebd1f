#include "postgres_client.h"

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>

namespace holdfast::test {

PostgresClient::PostgresClient(int port)
    : session_(PQconnectdb(
          ("host=127.0.0.1 user=postgres dbname=postgres port=" + std::to_string(port)).c_str())) {
  if (PQstatus(session_) == CONNECTION_OK) return;
  const std::string why = PQerrorMessage(session_);
  PQfinish(session_);
  throw std::runtime_error("postgres: " + why);
}

PostgresClient::~PostgresClient() { PQfinish(session_); }

std::string PostgresClient::value(const std::string& statements) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(session_, statements.c_str()),
                                                              &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(std::string("postgres: ") + PQerrorMessage(session_));
  }
  if (PQntuples(result.get()) == 0 || PQnfields(result.get()) == 0) return {};
  return PQgetvalue(result.get(), 0, 0);
}

}  // namespace holdfast::test
