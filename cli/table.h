// Table: rows of text in aligned columns, for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }

  // Each cell is made printable(). REQUIRES: as many cells as the header has.
  void add(std::vector<std::string> row);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace holdfast::cli
