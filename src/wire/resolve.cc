#include "wire/resolve.h"

#include "base/real_runtime.h"
#include "wire/address.h"

namespace holdfast::internal {

Task<Result<std::vector<std::string>>> resolve(Runtime& runtime, std::string host,
                                               Deadline deadline) {
  if (Address::of_number(host, 0)) co_return std::vector<std::string>(1, host);
  auto& real = static_cast<RealRuntime&>(runtime);
  co_return co_await real.resolver().look_up(real, std::move(host), deadline);
}

}  // namespace holdfast::internal
