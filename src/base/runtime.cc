#include "holdfast/runtime.h"

namespace holdfast {

Duration Runtime::jitter(Duration span, double fraction) {
  const double factor = 1.0 + fraction * (2.0 * uniform() - 1.0);
  return Duration(static_cast<Duration::rep>(static_cast<double>(span.count()) * factor));
}

Task<Woken> sleep_until(Runtime& runtime, BootTime moment, std::stop_token stop) {
  Event never(runtime);
  co_return co_await never.wait(Deadline::at(moment), std::move(stop));
}

}  // namespace holdfast
