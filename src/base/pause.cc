#include "base/pause.h"

#include <thread>

namespace holdfast::internal {

void pause_thread(Duration span) { std::this_thread::sleep_for(span); }
void yield_thread() { std::this_thread::yield(); }

}  // namespace holdfast::internal
