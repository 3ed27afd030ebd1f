// EtcdRaw: the requests of the usual recipe, bare: a transaction that puts a key if it is not there and
// shows the lock's oldest, as Go's package sends it; and a delete. Uses the engine's own channel, so that the
// recipe is compared, not HTTP/2.
//
// Thread safety: none.
#pragma once

#include <string>

#include "base/real_runtime.h"
#include "engines/etcd/messages.h"
#include "wire/grpc_channel.h"

namespace holdfast::bench {

// All calls throw std::runtime_error when the connection fails or the server refuses.
class EtcdRaw {
 public:
  EtcdRaw(const std::string& host, int port);

  void prepare(const std::string&) {}
  // Put and delete of a key of the lock, each a round trip.
  void pair(const std::string& name);
  // Pairs a second with `count` of them on the way at the same time, each of a key of its own.
  double flight(int count, double seconds);

 private:
  Task<void> grant_lease();
  Task<void> take(std::string key);
  Task<void> give(std::string key);
  Task<std::string> call(std::string path, std::string message);

  internal::RealRuntime runtime_;
  internal::GrpcChannel channel_;
  internal::etcd::LeaseId lease_ = 0;
};

}  // namespace holdfast::bench
