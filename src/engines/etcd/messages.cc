#include "engines/etcd/messages.h"

#include "wire/protobuf.h"

namespace holdfast::internal::etcd {

namespace {

// Numbers of etcd's own enumerations.
enum { kAscending = 1, kDescending = 2 };
enum { kByCreation = 2 };
enum { kEqual = 0, kGreater = 1 };
enum { kCreation = 1, kValue = 3 };
enum { kRangeOp = 1, kPutOp = 2, kDeleteOp = 3 };

// Calls `read` for each field. False if it returns false, or the bytes are malformed.
template <class Read>
bool read_fields(std::string_view bytes, Read read) {
  ProtoReader in(bytes);
  while (in.next()) {
    if (!read(in)) return false;
  }
  return in.sound();
}

bool read_header(std::string_view bytes, Header& header) {
  return read_fields(bytes, [&](const ProtoReader& in) {
    if (in.field() == 3) header.revision = in.number();
    if (in.field() == 4) header.term = static_cast<std::uint64_t>(in.number());
    return true;
  });
}

bool read_pair(std::string_view bytes, KeyValue& pair) {
  return read_fields(bytes, [&](const ProtoReader& in) {
    if (in.field() == 1) pair.key = in.bytes();
    if (in.field() == 2) pair.created = in.number();
    if (in.field() == 3) pair.modified = in.number();
    if (in.field() == 5) pair.value = in.bytes();
    if (in.field() == 6) pair.lease = in.number();
    return true;
  });
}

bool read_range(std::string_view bytes, RangeAnswer& answer) {
  return read_fields(bytes, [&](const ProtoReader& in) {
    if (in.field() == 4) answer.count = in.number();
    if (in.field() == 1) return read_header(in.bytes(), answer.header);
    return in.field() != 2 || read_pair(in.bytes(), answer.pairs.emplace_back());
  });
}

bool read_part(std::string_view bytes, RangeAnswer& part) {
  return read_fields(bytes, [&](const ProtoReader& in) {
    return in.field() != kRangeOp || read_range(in.bytes(), part);
  });
}

bool read_event(std::string_view bytes, WatchEvent& event) {
  return read_fields(bytes, [&](const ProtoReader& in) {
    if (in.field() == 1) event.removed = in.number() == 1;
    if (in.field() == 2) return read_pair(in.bytes(), event.pair);
    return in.field() != 3 || read_pair(in.bytes(), event.before.emplace());
  });
}

// The decoded answer, or nothing if `read` was not content with a field.
template <class Answer, class Read>
std::optional<Answer> decoded(std::string_view bytes, Read read) {
  Answer answer;
  if (!read_fields(bytes, [&](const ProtoReader& in) { return read(in, answer); })) {
    return std::nullopt;
  }
  return answer;
}

}  // namespace

// ---- Requests ----------------------------------------------------------------------------------

std::string encode(const Range& range) {
  ProtoWriter out;
  out.bytes(1, range.key).bytes(2, range.end).number(3, range.limit);
  if (range.order != Range::Order::by_key) {
    out.number(5, range.order == Range::Order::oldest_first ? kAscending : kDescending);
    out.number(6, kByCreation);
  }
  return out.number(8, range.keys_only ? 1 : 0).number(13, range.created_until).take();
}

std::string encode_remove(std::string_view key) {
  return ProtoWriter().bytes(1, key).number(3, 1).take();
}

std::string encode_lease_grant(std::int64_t ttl_s) { return ProtoWriter().number(1, ttl_s).take(); }

std::string encode_lease(LeaseId id) { return ProtoWriter().number(1, id).take(); }

std::string encode_authenticate(std::string_view user, std::string_view password) {
  return ProtoWriter().bytes(1, user).bytes(2, password).take();
}

std::string encode_watch(std::string_view key, std::string_view end, std::int64_t id, Tell tell) {
  ProtoWriter request;
  request.bytes(1, key).bytes(2, end);
  // A list of filters, of which 0 is "no puts"; and "with the pair before".
  if (tell != Tell::everything) request.message(5, std::string_view("\0", 1));
  if (tell == Tell::ends_and_before) request.number(6, 1);
  return ProtoWriter().message(1, request.number(7, id).take()).take();
}

std::string encode_watch_cancel(std::int64_t id) {
  return ProtoWriter().message(2, ProtoWriter().number(1, id).take()).take();
}

Txn& Txn::compare(std::string_view key, std::string_view end, int result, Revision revision) {
  std::string encoded = ProtoWriter().number(1, result).number(2, kCreation).bytes(3, key).take();
  // The value compared with is a choice: it must be there, also if it is 0.
  encoded += revision == 0 ? std::string("\x28\x00", 2) : ProtoWriter().number(5, revision).take();
  encoded += ProtoWriter().bytes(64, end).take();
  out_ += ProtoWriter().message(1, encoded).take();
  return *this;
}

Txn& Txn::request(Branch branch, int operation, std::string_view request) {
  const std::string chosen = ProtoWriter().message(operation, request).take();
  out_ += ProtoWriter().message(branch == Branch::then ? 2 : 3, chosen).take();
  return *this;
}

Txn& Txn::if_created_at(std::string_view key, Revision revision, std::string_view end) {
  return compare(key, end, kEqual, revision);
}

Txn& Txn::if_present(std::string_view key) { return compare(key, {}, kGreater, 0); }

Txn& Txn::if_value(std::string_view key, std::string_view value) {
  ProtoWriter encoded;
  encoded.number(1, kEqual).number(2, kValue).bytes(3, key).message(7, value);
  out_ += ProtoWriter().message(1, encoded.take()).take();
  return *this;
}

Txn& Txn::put(Branch branch, std::string_view key, std::string_view value, LeaseId lease) {
  return request(branch, kPutOp,
                 ProtoWriter().bytes(1, key).bytes(2, value).number(3, lease).take());
}

Txn& Txn::put_value(Branch branch, std::string_view key, std::string_view value) {
  return request(branch, kPutOp, ProtoWriter().bytes(1, key).bytes(2, value).number(6, 1).take());
}

Txn& Txn::put_lease(Branch branch, std::string_view key, LeaseId lease) {
  return request(branch, kPutOp, ProtoWriter().bytes(1, key).number(3, lease).number(5, 1).take());
}

Txn& Txn::remove(Branch branch, std::string_view key) {
  return request(branch, kDeleteOp, ProtoWriter().bytes(1, key).take());
}

Txn& Txn::range(Branch branch, const Range& range) {
  return request(branch, kRangeOp, etcd::encode(range));
}

// ---- Answers -----------------------------------------------------------------------------------

const KeyValue* TxnAnswer::first(std::size_t part) const {
  if (part >= parts.size() || parts[part].pairs.empty()) return nullptr;
  return &parts[part].pairs.front();
}

std::optional<RangeAnswer> decode_range(std::string_view bytes) {
  RangeAnswer answer;
  if (!read_range(bytes, answer)) return std::nullopt;
  return answer;
}

std::optional<TxnAnswer> decode_txn(std::string_view bytes) {
  return decoded<TxnAnswer>(bytes, [](const ProtoReader& in, TxnAnswer& answer) {
    if (in.field() == 2) answer.succeeded = in.truth();
    if (in.field() == 1) return read_header(in.bytes(), answer.header);
    return in.field() != 3 || read_part(in.bytes(), answer.parts.emplace_back());
  });
}

std::optional<std::vector<KeyValue>> decode_remove(std::string_view bytes) {
  using Pairs = std::vector<KeyValue>;
  return decoded<Pairs>(bytes, [](const ProtoReader& in, Pairs& removed) {
    return in.field() != 3 || read_pair(in.bytes(), removed.emplace_back());
  });
}

std::optional<LeaseAnswer> decode_lease(std::string_view bytes) {
  return decoded<LeaseAnswer>(bytes, [](const ProtoReader& in, LeaseAnswer& answer) {
    if (in.field() == 2) answer.id = in.number();
    if (in.field() == 3) answer.ttl_s = in.number();
    return in.field() != 1 || read_header(in.bytes(), answer.header);
  });
}

std::optional<WatchAnswer> decode_watch(std::string_view bytes) {
  return decoded<WatchAnswer>(bytes, [](const ProtoReader& in, WatchAnswer& answer) {
    if (in.field() == 2) answer.id = in.number();
    if (in.field() == 3) answer.created = in.truth();
    if (in.field() == 4) answer.cancelled = in.truth();
    if (in.field() == 6) answer.cancel_reason = in.bytes();
    if (in.field() == 1) return read_header(in.bytes(), answer.header);
    return in.field() != 11 || read_event(in.bytes(), answer.events.emplace_back());
  });
}

std::optional<std::string> decode_authenticate(std::string_view bytes) {
  return decoded<std::string>(bytes, [](const ProtoReader& in, std::string& token) {
    if (in.field() == 2) token = in.bytes();
    return true;
  });
}

}  // namespace holdfast::internal::etcd
