#include "lab/torture/sites.h"
#include "temp_dir.h"

namespace holdfast::lab {
namespace {

// No server and no network: a file in a directory that goes with it.
class SqliteSite : public Site {
 public:
  SqliteSite() : SqliteSite(std::make_unique<test::TempDir>()) {}

 private:
  explicit SqliteSite(std::unique_ptr<test::TempDir> folder)
      : Site(
            {},
            [path = folder->path()](const std::vector<int>&) {
              return "sqlite://" + (path / "locks.db").string();
            },
            false),
        folder_(std::move(folder)) {}

  std::unique_ptr<test::TempDir> folder_;
};

}  // namespace

std::unique_ptr<Site> open_sqlite(const SiteOptions&) { return std::make_unique<SqliteSite>(); }

}  // namespace holdfast::lab
