// Election: one leader among many candidates. A lock with a value that everybody can see.
//
//   auto election = client.election("scheduler");
//   auto term = election.campaign("http://10.0.0.7:8080");   // waits until it is our turn
//   … lead while term->held(); stop when term->lost() fires …
//   term->release();                                          // resign
//
//   Token known;                                              // elsewhere: follow the leader
//   while (auto leader = election.observe(known)) { known = leader->token; … }
//
// The token is the term's number: it grows with each change of leader. Thread safety: all of it.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "holdfast/export.h"
#include "holdfast/lock_request.h"

namespace holdfast {

struct Leader {
  Token token{};        // 0: nobody leads
  std::string value{};  // what the leader campaigned with: any bytes, so show it as printable()
};

class HOLDFAST_API Election {
 public:
  Election(std::shared_ptr<internal::Locker> locker, Name name, LockOptions options);

  // Waits for leadership. The lease is the term; release() resigns.
  Result<Lease> campaign(const std::string& value, std::stop_token stop = {});
  Result<Lease> try_campaign_for(const std::string& value, Duration patience,
                                 std::stop_token stop = {});

  Async<Result<Lease>> async_campaign(const std::string& value, std::stop_token stop = {});
  Async<Result<Lease>> async_try_campaign_for(const std::string& value, Duration patience,
                                              std::stop_token stop = {});

  // The present leader.
  Result<Leader> leader();
  Async<Result<Leader>> async_leader();
  // Waits until the leader is not the one with token `known`, at most `patience` (busy then).
  Result<Leader> observe(Token known, std::optional<Duration> patience = {},
                         std::stop_token stop = {});
  Async<Result<Leader>> async_observe(Token known, std::optional<Duration> patience = {},
                                      std::stop_token stop = {});

 private:
  LockRequest candidate(const std::string& value);

  std::shared_ptr<internal::Locker> locker_;
  Name name_;
  LockOptions options_;
};

}  // namespace holdfast
