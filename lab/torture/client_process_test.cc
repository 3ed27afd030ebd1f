#include "lab/torture/client_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "lab/checker.h"
#include "temp_dir.h"

namespace holdfast::lab {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

class ClientProcessTest : public testing::Test {
 protected:
  // Its answers to these lines, on a lock in a SQLite file.
  std::vector<std::string> tell(const std::vector<std::string>& lines) {
    const std::string folder = folder_.path().string();
    std::string input = "open A " + folder + " x holdfast sqlite://" + folder + "/locks.db\n";
    for (const std::string& line : lines) input += line + "\n";
    std::istringstream in(input);
    std::ostringstream out;
    EXPECT_EQ(run_client_process(in, out), 0);
    std::istringstream answers(out.str());
    std::vector<std::string> list;
    for (std::string line; std::getline(answers, line);) list.push_back(line);
    return list;
  }
  Diagnosis finding() const { return check(read_history(folder_.path() / "history")); }

  test::TempDir folder_;
};

TEST_F(ClientProcessTest, ReadsAtItsFirstStepAndWritesAtItsSecond) {
  EXPECT_THAT(tell({"acquire 30000 0 renew", "step s checked", "step s checked", "held", "release",
                    "held"}),
              ElementsAre("ready", StartsWith("granted "), "ok", "ok", "yes", "ok", "no"));
  EXPECT_EQ(finding().accepted, 6U);  // three fences, a register and a log each
  EXPECT_TRUE(finding().lost_updates.empty());
}

TEST_F(ClientProcessTest, WhoHoldsNothingDoesNothingUnlessItIsBlind) {
  EXPECT_THAT(tell({"step s checked"}), ElementsAre("ready", "not-held"));
  EXPECT_EQ(finding().accepted, 0U);
}

TEST_F(ClientProcessTest, AWriteThatIsSentNamesWhereItGoes) {
  EXPECT_THAT(
      tell({"acquire 30000 0 once", "step s checked", "send s"}),
      ElementsAre("ready", StartsWith("granted "), "ok", testing::HasSubstr(" s/full/register 1")));
}

TEST_F(ClientProcessTest, TakesTurnsForAWhile) {
  EXPECT_THAT(tell({"contend 300 30000 1 0"}), ElementsAre("ready", StartsWith("done ")));
  EXPECT_GT(finding().grants, 0U);
  EXPECT_EQ(finding().verdict.overlap, Answer::no);
  EXPECT_EQ(finding().verdict.harm_unfenced, Answer::no);
}

TEST_F(ClientProcessTest, SaysWhatItDoesNotUnderstand) {
  EXPECT_THAT(tell({"dance"}), ElementsAre("ready", "failed what is dance"));
  std::istringstream in("held\nopen A /nowhere x holdfast nope://\n");
  std::ostringstream out;
  EXPECT_EQ(run_client_process(in, out), 0);
  EXPECT_THAT(out.str(), StartsWith("failed nothing is open\nfailed "));
}

}  // namespace
}  // namespace holdfast::lab
