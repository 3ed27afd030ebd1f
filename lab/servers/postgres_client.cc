#include "postgres_client.h"

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>

namespace holdfast::test {

PostgresClient::PostgresClient(const std::string& host, int port)
    : raw_(PQconnectdb(
          ("host=" + host + " port=" + std::to_string(port) + " user=postgres dbname=postgres")
              .c_str())) {
  PQsetNoticeProcessor(raw_, [](void*, const char*) {}, nullptr);
  if (PQstatus(raw_) == CONNECTION_OK) return;
  const std::string why = PQerrorMessage(raw_);
  PQfinish(raw_);
  throw std::runtime_error(why);
}

PostgresClient::~PostgresClient() { PQfinish(raw_); }

std::string PostgresClient::value(const std::string& statements) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(raw_, statements.c_str()),
                                                              &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(PQresultErrorMessage(result.get()));
  }
  if (PQntuples(result.get()) == 0 || PQnfields(result.get()) == 0) return {};
  return PQgetvalue(result.get(), 0, 0);
}

}  // namespace holdfast::test
