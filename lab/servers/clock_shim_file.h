// The preload library of movable_clock.h as a file of this process's own. Its bytes are part of the
// program, so that an installed `holdfast torture` needs no other file.
#pragma once

#include <string>

namespace holdfast::test {

// Made when it is first asked for, readable by everybody, removed when the process ends. Throws
// std::system_error.
std::string clock_shim_file();

}  // namespace holdfast::test
