// Versioned: the optimistic lock. Nothing is held: a row has a version, who reads it gets that
// version, and who writes says which one it had read. If somebody else wrote in between, nothing
// is changed and the caller is told: a conflict is a value, not an error.
//
//   auto accounts = holdfast::Versioned::open("mysql://app@db/bank",
//                                             {.table = "accounts", .columns = {"balance"}}).value();
//   auto done = accounts.update("alice", [](std::vector<holdfast::Versioned::Value>& values) {
//     values[0] = add(values[0], 10);
//   });                                    // reads, changes, writes; again after a conflict
//
// Use it where conflicts are rare and the work can be done again. Where the work cannot (it sends
// a mail), or conflicts are the rule, take a lock.
//
// The table is yours: a key (bytes or text), a version (an integer of 64 bits, NOT NULL), and the
// columns that are written. Everybody who writes them must raise the version.
//
// Columns of bytes (BINARY, VARBINARY, BLOB; bytea) keep every byte of a value, in the key as well.
// Columns of text take UTF-8, converted to the characters of the column. A value that does not fit (too
// long, not UTF-8, no number, a constraint) is invalid_argument, and nothing is changed: it is never cut
// or replaced, whatever the server's sql_mode. Every write is committed when the call returns, whatever
// the server's autocommit, isolation level or read-only default: each connection sets these for itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/options.h"
#include "holdfast/result.h"
#include "holdfast/time.h"

namespace holdfast {

struct VersionedTable {
  std::string table;  // as SQL names it: "accounts" or "bank.accounts"
  std::string key = "id";
  std::string version = "version";
  std::vector<std::string> columns{};  // what is read and written, at least one
};

// How often and how soon update() tries again after a conflict.
struct RetryOptions {
  int attempts = 20;
  Duration first_pause = std::chrono::milliseconds(1);
  Duration longest_pause = std::chrono::milliseconds(100);
};

// Thread safety: all of it. It does not survive fork().
//
// Every call ends within ClientOptions::request_timeout (update: each of its attempts).
class HOLDFAST_API Versioned {
 public:
  using Value = std::optional<std::string>;  // nothing: NULL. Numbers in decimal.

  struct Row {
    std::uint64_t version = 0;
    std::vector<Value> values{};  // in the order of VersionedTable::columns
  };

  // The outcome of a write.
  struct Written {
    bool conflict = false;      // somebody else wrote, or deleted the row; nothing was changed
    std::uint64_t version = 0;  // the new one; after a conflict 0
  };

  // "mysql://…", "postgres://…" as for locks (without recipe=), or "sqlite:///path" of a database
  // that exists. Nothing is sent yet.
  static Result<Versioned> open(std::string_view url, VersionedTable table,
                                ClientOptions options = {});
  Versioned(Versioned&&) noexcept;
  Versioned& operator=(Versioned&&) noexcept;
  ~Versioned();

  // Nothing if there is no such row.
  Result<std::optional<Row>> read(std::string_view key);
  // Writes if the row still has `version`. A duplicate in another unique column is
  // invalid_argument. unknown: it may or may not have been written; read again.
  Result<Written> write(std::string_view key, std::uint64_t version,
                        const std::vector<Value>& values);
  // A new row, with version 1; a conflict if there is one already, or one with the same value in
  // another unique column.
  Result<Written> insert(std::string_view key, const std::vector<Value>& values);

  // Reads, lets `change` change the values, writes; after a conflict again, with a jittered pause.
  // `change` may be called several times, and must have no other effect. busy if there was a
  // conflict each time; not_held if there is no such row.
  Result<Row> update(std::string_view key, const std::function<void(std::vector<Value>&)>& change,
                     const RetryOptions& retry = {});

 private:
  struct Impl;
  explicit Versioned(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
