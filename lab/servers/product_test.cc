#include "product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "temp_dir.h"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

// An environment variable of this test; what it was before comes back.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

class ProductTest : public testing::Test {
 protected:
  // As scripts/servers leaves it.
  void unpack(const std::string& name, const std::string& program) {
    const std::filesystem::path bin = folder_.path() / name / "usr/sbin";
    std::filesystem::create_directories(bin);
    std::ofstream(bin / program) << "#!/bin/sh\n";
  }

  std::string chosen(ServerKind kind, const std::string& choice) {
    const Variable variable("HOLDFAST_SERVER", choice);
    try {
      const Product product = Product::of(kind);
      return product.name() + " " + product.version();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  TempDir folder_;
  const Variable servers_{"HOLDFAST_SERVERS", folder_.path().string()};
};

TEST_F(ProductTest, WithoutAChoiceItIsTheMachinesOwn) {
  unpack("mysql-9.7.4", "mysqld");
  unpack("redis-99.1", "redis-server");
  EXPECT_THAT(chosen(ServerKind::mysql, ""), MatchesRegex("mariadb [0-9.]+"));
  EXPECT_THAT(chosen(ServerKind::redis, "mysql-9.7"), MatchesRegex("redis [0-9.]+"));
  EXPECT_EQ(chosen(ServerKind::redis, "redis"), "redis 99.1");
}

TEST_F(ProductTest, TheNewestVersionThatMatchesIsTaken) {
  for (const char* name : {"mysql-9.7.4", "mysql-9.7.12", "mysql-9.70.1", "mysql-8.4.30"}) {
    unpack(name, "mysqld");
  }
  EXPECT_EQ(chosen(ServerKind::mysql, "mysql-9.7"), "mysql 9.7.12");
  EXPECT_EQ(chosen(ServerKind::mysql, "mysql-9.7.4"), "mysql 9.7.4");
  EXPECT_EQ(chosen(ServerKind::mysql, "redis,mysql-8"), "mysql 8.4.30");
  EXPECT_EQ(chosen(ServerKind::mysql, "mysql"), "mysql 9.70.1");
}

TEST_F(ProductTest, TheMachinesOwnCanBeChosenByItsVersion) {
  const std::string own = chosen(ServerKind::redis, "");
  unpack("redis-99.1", "redis-server");
  EXPECT_EQ(chosen(ServerKind::redis, "redis-" + own.substr(own.find(' ') + 1)), own);
}

TEST_F(ProductTest, WhatIsNotHereIsRefusedWithWhatIs) {
  unpack("mysql-9.7.4", "mysqld");
  EXPECT_THAT(chosen(ServerKind::mysql, "mysql-8"),
              AllOf(HasSubstr("mysql 8 is not in"), HasSubstr("9.7.4"),
                    HasSubstr("scripts/servers mysql")));
  EXPECT_THAT(chosen(ServerKind::mysql, "mysq-9"),
              AllOf(HasSubstr("no product 'mysq'"), HasSubstr("valkey")));
  EXPECT_THAT(chosen(ServerKind::redis, "mysq-9"), HasSubstr("no product 'mysq'"));
  EXPECT_THAT(chosen(ServerKind::mysql, "mysql,mariadb"), HasSubstr("two servers of one kind"));
}

TEST_F(ProductTest, ProgramsAreThoseOfItsOwnFolder) {
  unpack("mysql-9.7.4", "mysqld");
  const Variable variable("HOLDFAST_SERVER", "mysql");
  const Product product = Product::of(ServerKind::mysql);
  EXPECT_EQ(product.root(), folder_.path() / "mysql-9.7.4");
  EXPECT_EQ(product.program("mysqld"), product.root() / "usr/sbin/mysqld");
  EXPECT_THROW(product.program("mariadbd"), std::runtime_error);
}

TEST_F(ProductTest, WhatIsStartedIsReported) {
  unpack("mysql-9.7.4", "mysqld");
  const std::filesystem::path met = folder_.path() / "met";
  const Variable file("HOLDFAST_SERVERS_MET", met.string());
  const Variable variable("HOLDFAST_SERVER", "mysql");
  Product::of(ServerKind::mysql).report();
  Product::of(ServerKind::mysql).report();
  std::ifstream in(met);
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(said, "mysql 9.7.4\n");
}

}  // namespace
}  // namespace holdfast::test
