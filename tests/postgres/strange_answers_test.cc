// A server that answers something else than it was asked: see strange_answers.h.
#include "strange_answers.h"

#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

using contract::StrangeAnswers;
using test::SqlProtocol;

class PostgresStrangeAnswers : public testing::TestWithParam<std::string> {};

TEST_P(PostgresStrangeAnswers, AreFailuresWithAMessageAndStrandNoLock) {
  Proxy proxy(shared_server().port());
  Client sound = open(shared_server().url() + "?recipe=" + GetParam());
  StrangeAnswers answers(proxy, SqlProtocol::postgres);
  std::vector<std::string> names;
  StrangeAnswers::for_each_seed(20, [&](std::uint64_t seed) {
    names.push_back("strange " + std::to_string(seed));
    answers.play_lock(url_of(proxy, "?recipe=" + GetParam()), names.back(), seed);
  });
  for (const std::string& name : names) {
    EXPECT_EQ(told(sound.mutex(name, kLong).try_acquire_for(10s)), "granted")
        << name << " is stranded";
  }
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresStrangeAnswers,
                         testing::Values("advisory", "row", "table"),
                         [](const auto& recipe) { return recipe.param; });

TEST(PostgresVersionedRows, StrangeAnswersAreFailures) {
  shared_server().query(
      "CREATE TABLE strange (id VARCHAR(20) PRIMARY KEY, version BIGINT NOT NULL, n INT)");
  Proxy proxy(shared_server().port());
  StrangeAnswers answers(proxy, SqlProtocol::postgres);
  StrangeAnswers::for_each_seed(20, [&](std::uint64_t seed) {
    answers.play_versioned(url_of(proxy), {"strange", "id", "version", {"n"}}, seed);
  });
}

}  // namespace
}  // namespace holdfast::postgres_tests
