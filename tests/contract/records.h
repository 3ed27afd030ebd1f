// Records: the record calls of one client, as blocking calls.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract.h"
#include "lease/records.h"
#include "probe.h"

namespace holdfast::contract {

using Value = std::optional<std::string>;

class Records {
 public:
  explicit Records(const std::string& url, Duration patience = kPatience)
      : probe_(url, {.request_timeout = patience}), patience_(patience) {}

  Result<Value> read(const Name& name) {
    return ask<Value>([&](Engine& it) { return internal::read_record(it, name, limit()); });
  }
  Result<bool> swap(const Name& name, Value expected, Value value) {
    return ask<bool>([&](Engine& it) {
      return internal::swap_record(it, name, std::move(expected), std::move(value), limit());
    });
  }
  Result<std::vector<Record>> list(const std::string& prefix = {}) {
    return ask<std::vector<Record>>(
        [&](Engine& it) { return internal::list_records(it, prefix, limit()); });
  }
  Result<std::optional<WallTime>> time() {
    return ask<std::optional<WallTime>>(
        [&](Engine& it) { return internal::server_time(it, limit()); });
  }

  Client& client() { return *probe_.client; }
  LossyEngine& engine() { return *probe_.engine; }

 private:
  Deadline limit() const { return Deadline::at(BootClock::now() + patience_); }

  template <class T>
  Result<T> ask(const std::function<Task<Result<T>>(Engine&)>& call) {
    std::optional<Result<T>> answer;
    probe_.inside([&](Engine& it) -> Task<void> { answer.emplace(co_await call(it)); });
    return std::move(*answer);
  }

  Probe probe_;
  const Duration patience_;
};

// "true", "false", or the code of a failure with its message.
inline std::string said(const Result<bool>& swapped) {
  if (swapped) return *swapped ? "true" : "false";
  return std::string(code_name(swapped.code())) + ": " + swapped.message();
}

// The value in quotes, "none", or the code of a failure with its message.
inline std::string said(const Result<Value>& read) {
  if (!read) return std::string(code_name(read.code())) + ": " + read.message();
  return *read ? "'" + **read + "'" : "none";
}

}  // namespace holdfast::contract
