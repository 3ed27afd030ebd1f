#include "wire/resolve.h"

#include <asio/ip/tcp.hpp>

#include "base/real_runtime.h"

namespace holdfast::internal {

namespace {

// Shared with the handler, which can come after we gave up.
struct Answer {
  explicit Answer(RealRuntime& runtime) : resolver(*runtime.io()), done(runtime) {}
  asio::ip::tcp::resolver resolver;
  Event done;
  std::error_code error;
  std::vector<std::string> addresses;
};

}  // namespace

Task<Result<std::vector<std::string>>> resolve(Runtime& runtime, std::string host,
                                               Deadline deadline) {
  std::error_code error;
  static_cast<void>(asio::ip::make_address(host, error));
  if (!error) co_return std::vector<std::string>(1, host);
  auto& real = static_cast<RealRuntime&>(runtime);
  auto answer = std::make_shared<Answer>(real);
  real.add_watch();
  answer->resolver.async_resolve(
      host, "0", [answer, &real](std::error_code failed, const auto& results) {
        const RealRuntime::Inside inside(real);
        real.remove_watch();
        answer->error = failed;
        for (const auto& result : results) {
          answer->addresses.push_back(result.endpoint().address().to_string());
        }
        answer->done.set();
      });
  if (co_await answer->done.wait(deadline) != Woken::signalled) {
    answer->resolver.cancel();
    co_return Failure(Code::unreachable, "its name was not resolved in time");
  }
  if (answer->error || answer->addresses.empty()) {
    co_return Failure(Code::unreachable, "its name is not known (" + answer->error.message() + ")");
  }
  co_return answer->addresses;
}

}  // namespace holdfast::internal
