#include "engines.h"

#include <unistd.h>

#include "redis_server.h"

#include <cstdlib>
#include <ostream>
#include <system_error>

namespace holdfast::contract {

namespace {

class SqlitePlace final : public Place {
 public:
  std::string url() const override { return "sqlite://" + (folder_.path() / "locks.db").string(); }

 private:
  TempDir folder_;
};

class RedisPlace final : public Place {
 public:
  explicit RedisPlace(test::RedisOptions options = {}) : server_(std::move(options)) {}
  std::string url() const override { return server_.url(); }

 private:
  test::RedisServer server_;
};

}  // namespace

TempDir::TempDir() {
  const std::filesystem::path memory = "/dev/shm";
  const bool in_memory = access(memory.c_str(), W_OK) == 0;
  const auto parent = in_memory ? memory : std::filesystem::temp_directory_path();
  std::string pattern = (parent / "holdfast-contract-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), pattern);
  }
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

const std::vector<EngineUnderTest>& engines_under_test() {
  static const std::vector<EngineUnderTest> engines{
      {.name = "sqlite",
       .start = [] { return std::make_unique<SqlitePlace>(); },
       .opens_after_fork = false},
      {.name = "redis",
       .start = [] { return std::make_unique<RedisPlace>(); },
       .notices_death = false},
      {.name = "redis_tls",
       .start = [] { return std::make_unique<RedisPlace>(test::RedisOptions{.tls = true}); },
       .notices_death = false},
  };
  return engines;
}

void PrintTo(const EngineUnderTest& engine, std::ostream* out) { *out << engine.name; }

}  // namespace holdfast::contract
