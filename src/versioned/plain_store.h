// PlainStore: versioned rows where values stand in the statements one by one: SQLite and MySQL. Inside the loop only.
#pragma once

#include <string>
#include <vector>

#include "versioned/statements.h"
#include "versioned/store.h"

namespace holdfast::internal {

class PlainStore : public VersionedStore {
 public:
  PlainStore(const VersionedTable& table, char mark)
      : table_(quoted(table.table, mark)),
        key_(quoted(table.key, mark)),
        version_(quoted(table.version, mark)) {
    for (const std::string& column : table.columns) columns_.push_back(quoted(column, mark));
  }

  SqlStatement reading(const std::string& key) const override {
    std::string text = "SELECT " + version_;
    for (const std::string& column : columns_) text += ", " + column;
    SqlStatement statement{text + " FROM " + table_ + " WHERE " + key_ + " = " + place(key), {key}};
    statement.answer = versioned_row(columns_.size());
    return statement;
  }
  SqlStatement writing(const std::string& key, std::uint64_t version,
                       const std::vector<Value>& values) const override {
    SqlStatement statement;
    statement.text = "UPDATE " + table_ + " SET " + version_ + " = " + version_ + " + 1";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      statement.text += ", " + columns_[i] + " = " + place(values[i]);
      statement.values.push_back(value_of(values[i]));
    }
    statement.text += " WHERE " + key_ + " = " + place(key) + " AND " + version_ + " = ?";
    statement.values.emplace_back(key);
    statement.values.emplace_back(static_cast<std::int64_t>(version));
    return statement;
  }
  SqlStatement inserting(const std::string& key, const std::vector<Value>& values) const override {
    SqlStatement statement;
    std::string places;
    statement.text = "INSERT INTO " + table_ + " (" + key_ + ", " + version_;
    statement.values.emplace_back(key);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      statement.text += ", " + columns_[i];
      places += ", " + place(values[i]);
      statement.values.push_back(value_of(values[i]));
    }
    statement.text += ") VALUES (" + place(key) + ", 1" + places + ")";
    return statement;
  }

 protected:
  // How a value stands in a statement: as a text, whatever the column is.
  virtual std::string place(const Value& value) const = 0;

  // Where a duplicate is a conflict. That of an update is another column's, and no other version.
  static bool is_insertion(const SqlStatement& statement) {
    return statement.text.starts_with("INSERT");
  }

  const std::string& table() const { return table_; }
  // Of the key, then of the columns.
  std::vector<std::string> value_columns() const {
    std::vector<std::string> all{key_};
    all.insert(all.end(), columns_.begin(), columns_.end());
    return all;
  }

 private:
  std::string table_;
  std::string key_;
  std::string version_;
  std::vector<std::string> columns_;
};

}  // namespace holdfast::internal
