// A server that answers something else than it was asked: see strange_answers.h.
#include "strange_answers.h"

#include "mysql_testing.h"

namespace holdfast::mysql_tests {
namespace {

using contract::StrangeAnswers;
using test::SqlProtocol;

class MysqlStrangeAnswers : public MysqlTest, public testing::WithParamInterface<std::string> {};

TEST_P(MysqlStrangeAnswers, AreFailuresWithAMessageAndStrandNoLock) {
  Proxy proxy(server().port());
  Client sound = open(server().url("recipe=" + GetParam()));
  StrangeAnswers answers(proxy, SqlProtocol::mysql);
  std::vector<std::string> names;
  StrangeAnswers::for_each_seed(20, [&](std::uint64_t seed) {
    names.push_back("strange " + std::to_string(seed));
    answers.play_lock(url_through(proxy, GetParam()), names.back(), seed);
  });
  for (const std::string& name : names) expect_free_soon(sound, name);
}

INSTANTIATE_TEST_SUITE_P(Mysql, MysqlStrangeAnswers, testing::Values("named", "row", "table"),
                         [](const auto& recipe) { return recipe.param; });

TEST_F(MysqlTest, StrangeAnswersToVersionedRowsAreFailures) {
  MariadbClient(server().port(), "holdfast")
      .query("CREATE TABLE strange (id VARCHAR(20) PRIMARY KEY, version BIGINT NOT NULL, n INT)");
  Proxy proxy(server().port());
  StrangeAnswers answers(proxy, SqlProtocol::mysql);
  const std::string url = "mysql://root@127.0.0.1:" + std::to_string(proxy.port()) + "/holdfast";
  StrangeAnswers::for_each_seed(20, [&](std::uint64_t seed) {
    answers.play_versioned(url, {"strange", "id", "version", {"n"}}, seed);
  });
}

}  // namespace
}  // namespace holdfast::mysql_tests
