#include "holdfast/shared_mutex.h"

namespace holdfast {

SharedMutex::SharedMutex(LockRequest exclusive, LockRequest shared)
    : Mutex(std::move(exclusive)), shared_(std::move(shared)) {}

}  // namespace holdfast
