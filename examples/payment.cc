// A payment behind a fence: the database itself refuses a payer whose lock has ended. Run it as payment postgres://…
#include <libpq-fe.h>

#include <iostream>
#include <memory>

#include "holdfast/holdfast.h"
#include "holdfast/sql.h"

using Database = std::unique_ptr<PGconn, decltype(&PQfinish)>;

std::string execute(Database& database, const std::vector<std::string>& statements) {
  std::string cell;  // the first of the last answer, or its error
  for (const std::string& statement : statements) {
    PGresult* const answer = PQexec(database.get(), statement.c_str());
    cell = PQntuples(answer) > 0 ? PQgetvalue(answer, 0, 0) : PQresultErrorMessage(answer);
    PQclear(answer);
  }
  return cell;
}

bool pay(Database& database, const holdfast::Ticket& ticket) {
  execute(database, {"BEGIN"});
  const auto fence = holdfast::sql::admit(holdfast::sql::Dialect::postgres, "account 7", ticket);
  if (execute(database, fence) != "1") return execute(database, {"ROLLBACK"}), false;
  return execute(database, {"UPDATE account SET balance = balance - 10", "COMMIT"}).empty();
}

int main(int, char** argv) {
  Database database(PQconnectdb(argv[1]), &PQfinish);
  execute(database, holdfast::sql::tables(holdfast::sql::Dialect::postgres));
  execute(database, {"CREATE TABLE account AS SELECT 100 AS balance"});
  auto client = holdfast::Client::open(argv[1]).value();
  const auto lease = client.mutex("account 7").acquire().value();
  const bool paid = pay(database, lease);
  const bool late = pay(database, holdfast::Token(lease.token().value() - 1));  // its time is over
  std::cout << "paid: " << paid << ", by an earlier holder: " << late << '\n';
  return paid && !late ? 0 : 1;
}
