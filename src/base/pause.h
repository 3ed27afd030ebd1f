// Stops the calling thread for a moment. For waits of microseconds only; inside the loop
// everything longer is a timer.
#pragma once

#include "holdfast/time.h"

namespace holdfast::internal {

void pause_thread(Duration span);
void yield_thread();

}  // namespace holdfast::internal
