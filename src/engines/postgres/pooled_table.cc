#include "engines/postgres/pooled_table.h"

#include <algorithm>

#include "engines/postgres/pooled_connection.h"
#include "engines/postgres/table_sql.h"

namespace holdfast::internal::postgres {

// For all waiters of this client for the lock, because only the first of them looks.
std::vector<SqlStatement> PooledTable::with_look(const std::string& key, const ClaimId& claim) {
  constexpr Duration kOften = std::chrono::seconds(2);
  constexpr std::size_t kMaxKept = 100;
  const BootTime now = runtime().now();
  const auto [said, first] = said_alive_.try_emplace(key, now);
  // A waiter that is new has time enough.
  if (first || now - said->second < kOften) return {};
  said->second = now;
  std::string claims = claim_bytes(claim);
  for (const Awaited& each : awaited(key)) {
    claims += claim_bytes(each.claim);
  }
  if (said_alive_.size() > kMaxKept) {
    std::erase_if(said_alive_, [&](const auto& each) { return now - each.second > 2 * kOften; });
  }
  return {{stay_alive_sql(), {key, std::move(claims)}}};
}

std::optional<Duration> PooledTable::poll_after(std::uint64_t ahead, Duration waited) const {
  constexpr Duration kShortest = std::chrono::milliseconds(2);
  constexpr Duration kLongest = std::chrono::milliseconds(50);
  // A grant that is not taken up within a second goes to the next; and each before us takes a millisecond at least.
  constexpr Duration kRarely = std::chrono::milliseconds(300);
  constexpr Duration kEach = std::chrono::milliseconds(1);
  const Duration head = std::clamp<Duration>(waited / 8, kShortest, kLongest);
  const auto before = static_cast<Duration::rep>(std::min<std::uint64_t>(ahead, 2000));
  return std::min<Duration>(head * (before + 1) * (before + 1), kRarely + before * kEach);
}

Task<Result<std::unique_ptr<SqlConnection>>> PooledTable::open(SessionUse use) {
  Result<std::unique_ptr<PostgresConnection>> connected =
      co_await connect(runtime(), settings(), connect_deadline());
  if (!connected) co_return connected.failure();
  co_return std::unique_ptr<SqlConnection>(std::make_unique<PooledConnection>(
      std::move(connected).value(), transaction_settings(settings(), use.lock_timeout)));
}

}  // namespace holdfast::internal::postgres
