#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "holdfast/holdfast.h"

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "holdfast-XXXXXX").string();
  if (!mkdtemp(folder.data())) return 1;
  const auto token = [&] {
    auto client = holdfast::Client::open("sqlite://" + folder + "/locks.db").value();
    return client.mutex("consumer").acquire().value().token();
  }();
  std::filesystem::remove_all(folder);
  std::cout << "holdfast " HOLDFAST_VERSION ", token " << token.str() << '\n';
}
