// Threads of the library's own. They take no signals: those are for the program's threads.
#pragma once

#include <functional>
#include <thread>

namespace holdfast::internal {

std::thread start_thread(std::function<void()> work);

}  // namespace holdfast::internal
