#include "etcd_raw.h"

#include <stdexcept>

#include "flight.h"
#include "pass.h"

namespace holdfast::bench {

namespace {

using internal::Endpoint;
using internal::GrpcReply;
using internal::etcd::Txn;

constexpr std::chrono::seconds kPatience{30};
constexpr int kLeaseS = 600;

// As Flight wants it.
struct RuntimeLoop {
  internal::RealRuntime& runtime;
  void run(Task<void> task) { runtime.block_on(std::move(task)); }
};

}  // namespace

EtcdRaw::EtcdRaw(const std::string& host, int port)
    : channel_(runtime_, "etcd", nullptr, kPatience, [host, port] {
        Endpoint endpoint;
        endpoint.host = host;
        endpoint.port = static_cast<std::uint16_t>(port);
        return endpoint;
      }) {
  runtime_.block_on(grant_lease());
}

Task<std::string> EtcdRaw::call(std::string path, std::string message) {
  const Deadline deadline = Deadline::at(runtime_.now() + kPatience);
  Result<GrpcReply> reply =
      co_await channel_.call(std::move(path), {}, std::move(message), deadline);
  if (!reply) throw std::runtime_error("raw: " + reply.message());
  if (reply->status != 0) throw std::runtime_error("raw: " + reply->message);
  co_return std::move(reply->message);
}

Task<void> EtcdRaw::grant_lease() {
  std::string request = internal::etcd::encode_lease_grant(kLeaseS);
  const std::string answer = co_await call("/etcdserverpb.Lease/LeaseGrant", std::move(request));
  const auto lease = internal::etcd::decode_lease(answer);
  if (!lease) throw std::runtime_error("raw: no lease");
  lease_ = lease->id;
}

Task<void> EtcdRaw::take(std::string key) {
  Txn txn;
  const std::string lock = key.substr(0, key.find('/') + 1);
  internal::etcd::Range owner;
  owner.key = lock;
  owner.end = lock.substr(0, lock.size() - 1) + static_cast<char>('/' + 1);
  owner.limit = 1;
  owner.order = internal::etcd::Range::Order::oldest_first;
  txn.if_created_at(key, 0).put(Txn::Branch::then, key, "raw", lease_);
  txn.range(Txn::Branch::then, owner);
  std::string request = txn.encode();
  const std::string answer = co_await call("/etcdserverpb.KV/Txn", std::move(request));
  const auto outcome = internal::etcd::decode_txn(answer);
  if (!outcome || !outcome->succeeded) throw std::runtime_error("raw: the key was there");
}

// DeleteRangeRequest: the key is its first field. Keys here are short.
Task<void> EtcdRaw::give(std::string key) {
  std::string request = "\n";
  request += static_cast<char>(key.size());
  request += key;
  co_await call("/etcdserverpb.KV/DeleteRange", std::move(request));
}

void EtcdRaw::pair(const std::string& name) {
  const std::string key = name + "/raw";
  runtime_.block_on(take(key));
  runtime_.block_on(give(key));
}

double EtcdRaw::flight(int count, double seconds) {
  const std::int64_t begin = monotonic_ns();
  const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9);
  int pairs = 0;
  RuntimeLoop loop{runtime_};
  Flight::run(loop, count, [&](int i) -> Task<void> {
    const std::string key = "raw-" + std::to_string(i) + "/key";
    while (monotonic_ns() < end) {
      co_await take(key);
      co_await give(key);
      ++pairs;
    }
  });
  return pairs / (static_cast<double>(monotonic_ns() - begin) / 1e9);
}

}  // namespace holdfast::bench
