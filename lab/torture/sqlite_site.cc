#include "lab/torture/sites.h"
#include "temp_dir.h"

namespace holdfast::lab {
namespace {

// No server and no network: a file in a folder. It cannot be stopped; it can be put back.
class SqliteFile : public SiteServer {
 public:
  explicit SqliteFile(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
  }

  int port() const override { return 0; }
  void pause() override {}
  void resume() override {}
  void kill() override {}
  void restart() override {}
  bool alive() override { return true; }
  std::vector<std::filesystem::path> data() const override { return {folder_}; }

 private:
  const std::filesystem::path folder_;
};

class SqliteSite : public Site {
 public:
  SqliteSite() : SqliteSite(std::make_unique<test::TempDir>()) {}

 private:
  explicit SqliteSite(std::unique_ptr<test::TempDir> folder)
      : Site(
            one_file(folder->path() / "data"),
            [path = folder->path()](const std::vector<int>&) {
              return "sqlite://" + (path / "data" / "locks.db").string();
            },
            false),
        folder_(std::move(folder)) {}

  static std::vector<std::unique_ptr<SiteServer>> one_file(std::filesystem::path folder) {
    std::vector<std::unique_ptr<SiteServer>> list;
    list.push_back(std::make_unique<SqliteFile>(std::move(folder)));
    return list;
  }

  std::unique_ptr<test::TempDir> folder_;
};

}  // namespace

std::unique_ptr<Site> open_sqlite(const SiteOptions&) { return std::make_unique<SqliteSite>(); }

}  // namespace holdfast::lab
