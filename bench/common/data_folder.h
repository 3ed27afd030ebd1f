// DataFolder: where a server of a benchmark has its data; removed at the end. In memory, or with
// HOLDFAST_SERVER_DATA=FOLDER in the environment (`bench/run --disk`) there, where servers make every
// answer durable.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast::bench {

// Whether data is on a disk.
bool on_disk();
// For the head of a report: "data in memory", "data on a disk (FOLDER), every answer durable".
std::string where_data_is();

class DataFolder {
 public:
  // Throws if it cannot be made.
  DataFolder();
  ~DataFolder();
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace holdfast::bench
