// Which process is in the way of a file lock, for messages: an operator needs to know what to end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace holdfast::internal {

// "process 4711 (backup)"; "another process" if its id is not known (0 or less).
std::string process_name(std::int64_t pid);

// The process that keeps others from writing to the database, by the kernel's list of locks.
std::string writer_of(const std::filesystem::path& database);

}  // namespace holdfast::internal
