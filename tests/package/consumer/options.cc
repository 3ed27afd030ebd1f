// Options as users set them: some of them. Compiled with all warnings, which are errors.
#include <holdfast/holdfast.h>
#include <holdfast/versioned.h>

using namespace std::chrono_literals;

int main() {
  auto client = holdfast::Client::open("sqlite:///tmp/x.db", {.request_timeout = 2s});
  if (!client) return 1;
  auto long_one = client->mutex("x", {.ttl = 12h});
  auto fading = client->mutex("y", {.auto_renew = false});
  auto strict = client->mutex("z", {.require = {.token = holdfast::TokenStrength::quorum}});
  const holdfast::VersionedTable table{.table = "accounts", .columns = {"balance"}};
  const holdfast::RetryOptions retry{.attempts = 3};
  const holdfast::Wait wait{.queue = false};
  const holdfast::Claim claim{.name = "x", .ttl = 1s};
  const holdfast::Busy busy{.holder = "me"};
  const holdfast::Leader leader{.value = "me"};
  return long_one.options().ttl == 12h && retry.attempts == 3 && !wait.queue &&
                 claim.permits == 1 && !busy.holder.empty() && !leader.value.empty() &&
                 !table.table.empty() && !fading.options().auto_renew && strict.options().auto_renew
             ? 0
             : 1;
}
