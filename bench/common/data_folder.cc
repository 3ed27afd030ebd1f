#include "data_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace holdfast::bench {

namespace {

// The same that servers of the tests look at.
std::string folder_on_disk() {
  const char* const folder = std::getenv("HOLDFAST_SERVER_DATA");
  return folder != nullptr ? folder : "";
}

}  // namespace

bool on_disk() { return !folder_on_disk().empty(); }

std::string where_data_is() {
  return on_disk() ? "data on a disk (" + folder_on_disk() + "), every answer durable"
                   : "data in memory";
}

DataFolder::DataFolder()
    : path_((on_disk() ? folder_on_disk() : "/dev/shm") + "/holdfast-bench-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), path_);
  }
}

DataFolder::~DataFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::bench
