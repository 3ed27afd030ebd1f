// LockApi: locks over HTTP. Each lease ends in one of two ways: with the ttl, unless it is renewed (acquire), or with
// its connection (hold).
//
// A grant whose answer could not be written is given back at once, unless the request had an Idempotency-Key: then its
// sender is expected to ask again.
#pragma once

#include "serve/asked.h"
#include "serve/repeats.h"

namespace holdfast::cli::serve {

class History;

class LockApi {
 public:
  LockApi(net::io_context& context, const Engines& engines, History& history);

  Awaitable<Response> acquire(Request request);
  Awaitable<Response> hold(Request request);
  Awaitable<Response> renew(Request request);
  Awaitable<Response> release(Request request);
  Awaitable<Response> take_away(Request request);  // break
  Awaitable<Response> list(Request request);
  Awaitable<Response> inspect(Request request);

  Leases& leases() { return leases_; }

 private:
  Awaitable<Result<Lease>> take(ServedEngine& engine, const Asked& asked, LockOptions options,
                                std::stop_token stop);
  Awaitable<Response> acquire_once(std::stop_token gone, ServedEngine& engine, Asked asked);
  Awaitable<Response> acquire_by_key(Request request, ServedEngine& engine, Asked asked);
  Awaitable<void> run(std::shared_ptr<Attempt> attempt, ServedEngine& engine, Asked asked,
                      std::string mark);
  Awaitable<Result<std::shared_ptr<KeptLease>>> take_or_recall(ServedEngine& engine,
                                                               const Asked& asked, std::string mark,
                                                               std::stop_token stop);
  Awaitable<Result<std::shared_ptr<KeptLease>>> recall(ServedEngine& engine, const Asked& asked,
                                                       std::string mark);
  Response granted(const std::shared_ptr<KeptLease>& kept, BootTime received) const;

  net::io_context& context_;
  const Engines& engines_;
  History& history_;
  Leases leases_;
  Repeats repeats_;
};

}  // namespace holdfast::cli::serve
