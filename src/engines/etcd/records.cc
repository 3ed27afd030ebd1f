#include "engines/etcd/records.h"

#include <algorithm>

namespace holdfast::internal::etcd {

Task<Result<std::optional<std::string>>> Records::read(Name name, Deadline deadline) {
  Range wanted{.key = record_key(cluster_.settings().prefix, name), .end = {}};
  Result<Answer<RangeAnswer>> answer = co_await cluster_.range(std::move(wanted), deadline);
  if (!answer) co_return answer.failure();
  std::vector<KeyValue>& pairs = answer->message.pairs;
  if (pairs.empty()) co_return std::optional<std::string>();
  co_return std::optional(std::move(pairs.front().value));
}

Task<Result<bool>> Records::swap(Name name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) {
  const std::string key = record_key(cluster_.settings().prefix, name);
  Txn txn;
  if (expected) {
    txn.if_value(key, *expected);
  } else {
    txn.if_created_at(key, 0);
  }
  if (value) {
    txn.put(Txn::Branch::then, key, *value, 0);
  } else {
    txn.remove(Txn::Branch::then, key);
  }
  const Range wanted{.key = key, .end = {}};
  txn.range(Txn::Branch::otherwise, wanted);
  const Result<Answer<TxnAnswer>> answer = co_await cluster_.txn(std::move(txn), deadline);
  if (!answer) co_return answer.failure();
  if (answer->message.succeeded) co_return true;
  if (answer->message.parts.empty()) {
    co_return cluster_.failed(Code::unknown, "an answer that makes no sense");
  }
  const KeyValue* found = answer->message.first(0);
  co_return found ? value == found->value : !value;
}

Task<Result<std::vector<Record>>> Records::list(std::string prefix, Deadline deadline) {
  const std::string& keys_prefix = cluster_.settings().prefix;
  const std::string begin = keys_prefix + escaped_name(prefix);
  Range wanted{.key = begin.empty() ? std::string(1, '\0') : begin, .end = end_of_prefix(begin)};
  Result<Answer<RangeAnswer>> answer = co_await cluster_.range(std::move(wanted), deadline);
  if (!answer) co_return answer.failure();
  std::vector<Record> all;
  for (KeyValue& pair : answer->message.pairs) {
    const std::optional<Name> name = name_of_record(keys_prefix, pair.key);
    if (name && name->bytes().starts_with(prefix)) all.push_back({*name, std::move(pair.value)});
  }
  std::ranges::sort(all, {}, &Record::name);
  co_return all;
}

}  // namespace holdfast::internal::etcd
