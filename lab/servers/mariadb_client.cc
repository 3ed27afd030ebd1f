#include "mariadb_client.h"

#include <mysql.h>

#include <stdexcept>

namespace holdfast::test {

MariadbClient::MariadbClient(int port, const std::string& database, const std::string& user,
                             const std::string& password)
    : raw_(mysql_init(nullptr)) {
  const unsigned int seconds = 5;
  mysql_options(raw_, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  if (!mysql_real_connect(raw_, "127.0.0.1", user.c_str(), password.c_str(),
                          database.empty() ? nullptr : database.c_str(),
                          static_cast<unsigned int>(port), nullptr, 0)) {
    const std::string why = mysql_error(raw_);
    mysql_close(raw_);
    throw std::runtime_error("mariadb: " + why);
  }
}

MariadbClient::~MariadbClient() { mysql_close(raw_); }

MariadbClient::Rows MariadbClient::query(const std::string& sql) {
  if (mysql_real_query(raw_, sql.data(), sql.size()) != 0) {
    throw std::runtime_error(std::string("mariadb: ") + mysql_error(raw_));
  }
  Rows rows;
  MYSQL_RES* const result = mysql_store_result(raw_);
  if (!result) return rows;
  const unsigned int columns = mysql_num_fields(result);
  while (const MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const lengths = mysql_fetch_lengths(result);
    std::vector<std::string>& cells = rows.emplace_back();
    for (unsigned int i = 0; i < columns; ++i) {
      cells.push_back(row[i] ? std::string(row[i], lengths[i]) : "NULL");
    }
  }
  mysql_free_result(result);
  return rows;
}

std::string MariadbClient::value(const std::string& sql) {
  const Rows rows = query(sql);
  return rows.empty() || rows.front().empty() ? "" : rows.front().front();
}

}  // namespace holdfast::test
