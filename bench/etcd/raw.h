// Raw: the requests of the usual recipe, bare: a transaction that puts a key if it is not there and
// shows the oldest of the lock's, as Go's package sends it; and a delete. On the channel that the engine has too, so that what is compared is the
// recipe, not HTTP/2.
//
// Thread safety: none.
#pragma once

#include <string>

#include "base/real_runtime.h"
#include "engines/etcd/messages.h"
#include "wire/grpc_channel.h"

namespace holdfast::bench {

// All calls throw std::runtime_error when the connection fails or the server refuses.
class Raw {
 public:
  Raw(const std::string& host, int port);

  // Both of `key`, each a round trip.
  void pair(const std::string& key);
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
