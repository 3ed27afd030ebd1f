#include "wire/server_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace holdfast::internal {
namespace {

using testing::HasSubstr;

ServerAnswer primary(const std::string& where, std::int64_t timeline = 1) {
  return {where, ServerState{.writable = true, .id = where, .timeline = timeline}, {}};
}
ServerAnswer replica(const std::string& where) {
  return {where, ServerState{.replicates = true, .id = where}, {}};
}
ServerAnswer missing(const std::string& where, Code code = Code::unreachable) {
  return {where, {}, Failure(code, "refused")};
}

std::string chosen(const std::vector<ServerAnswer>& answers,
                   std::optional<std::size_t> in_use = {}) {
  const Result<std::size_t> result = choose_server(answers, in_use);
  return result ? answers[*result].where : code_name(result.code());
}

TEST(ServerChoice, TheOneThatCanBeWrittenWhateverTheOrder) {
  EXPECT_EQ(chosen({primary("a"), replica("b")}), "a");
  EXPECT_EQ(chosen({replica("b"), missing("c"), primary("a")}), "a");
}

TEST(ServerChoice, NoneIfNoneCanBeWrittenWithAReasonForEach) {
  const std::vector<ServerAnswer> answers{replica("a"), missing("b"), {"c", {}, {}}};
  const Result<std::size_t> none = choose_server(answers, std::nullopt);
  EXPECT_EQ(none.code(), Code::unreachable);
  EXPECT_THAT(none.message(),
              HasSubstr("a: it can only be read; b: refused; c: no answer in time"));
  EXPECT_EQ(chosen({missing("a", Code::misconfigured), missing("b", Code::misconfigured)}),
            "misconfigured");
  EXPECT_EQ(chosen({missing("a", Code::misconfigured), replica("b")}), "unreachable");
}

TEST(ServerChoice, OfTwoPrimariesTheOneThatWasPromotedLater) {
  EXPECT_EQ(chosen({primary("a", 1), primary("b", 2)}), "b");
  EXPECT_EQ(chosen({primary("b", 2), primary("a", 1)}, 1), "b") << "also if the old one is in use";
}

TEST(ServerChoice, AnOldPrimaryIsNotChosenEvenIfItAloneAnswers) {
  const std::vector<ServerAnswer> answers{primary("a", 1), missing("b")};
  const Result<std::size_t> none = choose_server(answers, std::nullopt, 2);
  EXPECT_EQ(none.code(), Code::unreachable);
  EXPECT_THAT(none.message(), HasSubstr("a: it is an old primary (timeline 1)"));
  ServerAnswer standby = replica("c");
  standby.state->timeline = 2;
  EXPECT_EQ(chosen({primary("a", 1), missing("b"), standby}), "unreachable");
}

TEST(ServerChoice, OfTwoPrimariesThatNothingTellsApartNeitherButTheOneInUse) {
  EXPECT_EQ(chosen({primary("a"), primary("b")}), "unreachable");
  EXPECT_EQ(chosen({primary("a"), primary("b")}, 1), "b");
}

TEST(ServerChoice, OneServerUnderTwoNamesIsOne) {
  ServerAnswer again = primary("b");
  again.state->id = "a";
  EXPECT_EQ(chosen({primary("a"), again}), "a");
  EXPECT_EQ(chosen({primary("a"), again}, 1), "b");
}

TEST(ServerChoice, AWritableReplicaOnlyIfNobodyElseMayBeThePrimary) {
  ServerAnswer writable = replica("a");
  writable.state->writable = true;
  EXPECT_EQ(chosen({writable, primary("b")}), "b");
  EXPECT_EQ(chosen({writable, missing("b")}), "unreachable");
  EXPECT_EQ(chosen({writable, replica("b")}), "a") << "a ring";
}

TEST(ServerChoice, ServersOfAnotherClusterAreRefused) {
  ServerAnswer a = primary("a");
  ServerAnswer b = replica("b");
  a.state->cluster = "1";
  b.state->cluster = "2";
  EXPECT_EQ(chosen({a, b}), "misconfigured");
}

}  // namespace
}  // namespace holdfast::internal
