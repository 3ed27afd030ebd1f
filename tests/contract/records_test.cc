// Records: kept beside the locks, exchanged by compare and set, and the same to everybody.
#include "records.h"

#include <array>

namespace holdfast::contract {

class RecordsTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    if (!engine().records) GTEST_SKIP() << "this engine keeps no records";
  }
};
HOLDFAST_ON_EVERY_ENGINE(RecordsTest);

HOLDFAST_CONTRACT(RecordsOrReasonTest);

TEST_P(RecordsOrReasonTest, AnEngineKeepsRecordsOrSaysWhyNot) {
  Records records(url());
  const Guarantees& told = records.client().guarantees();
  ASSERT_EQ(told.records, engine().records);
  if (told.records) return;
  EXPECT_FALSE(told.no_records_because.empty());
  const auto expect_reason = [&](const auto& answer) {
    EXPECT_EQ(outcome_of(answer), "unsupported");
    EXPECT_THAT(answer.message(), testing::HasSubstr(told.no_records_because));
  };
  expect_reason(records.read("x"));
  expect_reason(records.swap("x", std::nullopt, "1"));
  expect_reason(records.list());
}

TEST_P(RecordsTest, ThereIsNoneBeforeTheFirst) {
  Records records(url());
  EXPECT_EQ(said(records.read("x")), "none");
  EXPECT_TRUE(records.list().value().empty());
}

TEST_P(RecordsTest, OneIsStoredWhereThereIsNoneAndEverybodyReadsIt) {
  Records records(url());
  Records others(url());
  EXPECT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  EXPECT_EQ(said(others.read("x")), "'1'");
  EXPECT_EQ(said(others.swap("x", "1", "2")), "true");
  EXPECT_EQ(said(records.read("x")), "'2'");
}

TEST_P(RecordsTest, AnUnexpectedRecordIsNotTouched) {
  Records records(url());
  EXPECT_EQ(said(records.swap("x", "1", "2")), "false");
  EXPECT_EQ(said(records.read("x")), "none");
  ASSERT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  EXPECT_EQ(said(records.swap("x", std::nullopt, "2")), "false");
  EXPECT_EQ(said(records.swap("x", "3", "2")), "false");
  EXPECT_EQ(said(records.swap("x", "3", std::nullopt)), "false");
  EXPECT_EQ(said(records.swap("x", "", "2")), "false");
  EXPECT_EQ(said(records.read("x")), "'1'");
}

TEST_P(RecordsTest, TheSameAgainIsTrueAgain) {
  Records records(url());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(said(records.swap("x", "1", "2")), "true");
  EXPECT_EQ(said(records.swap("x", "2", "2")), "true");
  EXPECT_EQ(said(records.read("x")), "'2'");
}

TEST_P(RecordsTest, OneIsRemovedAndStoredAgain) {
  Records records(url());
  ASSERT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(said(records.swap("x", "1", std::nullopt)), "true");
  EXPECT_EQ(said(records.read("x")), "none");
  EXPECT_TRUE(records.list().value().empty());
  EXPECT_EQ(said(records.swap("x", "1", "2")), "false");
  EXPECT_EQ(said(records.swap("x", std::nullopt, "2")), "true");
  EXPECT_EQ(said(records.read("x")), "'2'");
}

TEST_P(RecordsTest, ALostReplyIsUnknownAndTheSameAgainIsTrue) {
  Records records(url());
  Records others(url());
  records.engine().lose_swap_replies = 1;
  EXPECT_EQ(outcome_of(records.swap("x", std::nullopt, "1")), "unknown");
  EXPECT_EQ(said(others.read("x")), "'1'");
  EXPECT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  records.engine().lose_swap_replies = 1;
  EXPECT_EQ(outcome_of(records.swap("x", "1", std::nullopt)), "unknown");
  EXPECT_EQ(said(records.swap("x", "1", std::nullopt)), "true");
  EXPECT_EQ(said(others.read("x")), "none");
}

// Values that databases like to take for the same: case, spaces at the end, a NUL, no byte at all.
TEST_P(RecordsTest, AnyBytesAreAName) {
  Records records(url());
  const std::vector<std::string> names{"a",
                                       "A",
                                       "a ",
                                       "a\t",
                                       std::string("a\0", 2),
                                       "a/b",
                                       "a{b}c",
                                       "a%",
                                       "a_",
                                       "a*",
                                       "a'\"\\`",
                                       "\xff\xfe",
                                       "\xc3\xa4",
                                       "a\xcc\x88",
                                       " ",
                                       "\n",
                                       "a~record",
                                       "%records",
                                       "{a}:hf:d",
                                       ".",
                                       "..",
                                       std::string(Name::kMaxBytes, 'n'),
                                       std::string(Name::kMaxBytes - 1, 'n')};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string value = "value " + std::to_string(i);
    EXPECT_EQ(said(records.swap(names[i], std::nullopt, value)), "true") << i;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(said(records.read(names[i])), "'value " + std::to_string(i) + "'");
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  std::vector<std::string> listed;
  const std::vector<Record> all = records.list().value();
  for (const Record& record : all) listed.push_back(record.name.bytes());
  EXPECT_EQ(listed, sorted);
}

TEST_P(RecordsTest, AnyBytesAreAValueAndAreComparedAsTheyAre) {
  Records records(url());
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
  const std::vector<std::string> values{"",
                                        " ",
                                        "a",
                                        "A",
                                        "a ",
                                        std::string("a\0", 2),
                                        std::string("\0", 1),
                                        "\xc3\xa4",
                                        "a\xcc\x88",
                                        "NULL",
                                        "'; --\\",
                                        all_bytes,
                                        std::string(kMaxRecordBytes, '\xff'),
                                        std::string(kMaxRecordBytes, '\0')};
  Value before;
  for (const std::string& value : values) {
    ASSERT_EQ(said(records.swap("x", before, value)), "true");
    EXPECT_EQ(said(records.read("x")), "'" + value + "'");
    for (const std::string& other : values) {
      if (other == value) continue;
      ASSERT_EQ(said(records.swap("x", other, "taken for another")), "false")
          << "'" << value << "' was taken for '" << other << "'";
    }
    before = value;
  }
}

TEST_P(RecordsTest, AValueThatIsTooLongIsRefused) {
  Records records(url());
  const Result<bool> swapped =
      records.swap("x", std::nullopt, std::string(kMaxRecordBytes + 1, 'v'));
  EXPECT_EQ(outcome_of(swapped), "invalid_argument");
  EXPECT_THAT(swapped.message(), testing::HasSubstr("2048"));
  EXPECT_EQ(said(records.read("x")), "none");
}

TEST_P(RecordsTest, TheyAreListedByPrefixSortedByName) {
  Records records(url());
  for (const char* name : {"job/b", "job/a", "job", "job%", "job_/c", "jo", "Job/d", "jpb"}) {
    ASSERT_EQ(said(records.swap(name, std::nullopt, std::string("of ") + name)), "true");
  }
  const auto listed = [&](const std::string& prefix) {
    std::string names;
    for (const Record& record : records.list(prefix).value()) {
      EXPECT_EQ(record.value, "of " + record.name.bytes());
      names += (names.empty() ? "" : " ") + record.name.bytes();
    }
    return names;
  };
  EXPECT_EQ(listed(""), "Job/d jo job job% job/a job/b job_/c jpb");
  EXPECT_EQ(listed("job"), "job job% job/a job/b job_/c");
  EXPECT_EQ(listed("job/"), "job/a job/b");
  for (const char* wild : {"job%", "job_", "job_/", "jo%b", "job*", "job?", "[j]ob", "nothing"}) {
    EXPECT_EQ(listed(wild), wild == std::string("job%")    ? "job%"
                            : wild == std::string("job_")  ? "job_/c"
                            : wild == std::string("job_/") ? "job_/c"
                                                           : "");
  }
}

// A lock and a record of the same name know nothing of each other.
TEST_P(RecordsTest, TheyStayWhenTheLockIsReleasedTakenAwayOrExpires) {
  Records records(url());
  Client& client = records.client();
  ASSERT_EQ(said(records.swap("x", std::nullopt, "1")), "true");
  EXPECT_TRUE(client.list().value().empty()) << "a record is not a lock";
  EXPECT_TRUE(client.inspect("x").value().holders.empty());
  {
    const Lease lease = client.mutex("x", brief()).acquire().value();
    EXPECT_EQ(client.list().value().size(), 1U);
    EXPECT_EQ(records.list().value().size(), 1U);
    EXPECT_EQ(said(records.swap("x", "1", "2")), "true");
    EXPECT_TRUE(lease.held());
  }
  EXPECT_EQ(said(records.read("x")), "'2'");
  const Lease taken = client.mutex("x", brief()).acquire().value();
  static_cast<void>(client.evict("x", taken.token()));
  EXPECT_EQ(said(records.read("x")), "'2'");
  const Lease fading_lease = client.mutex("y", fading()).acquire().value();
  ASSERT_EQ(said(records.swap("y", std::nullopt, "1")), "true");
  pause_for(engine().short_ttl * 2);
  EXPECT_EQ(outcome_of(client.mutex("y", brief()).try_acquire_for(kPatience)), "granted");
  EXPECT_EQ(said(records.read("y")), "'1'");
}

// Each is beside the keys of the others in some store.
TEST_P(RecordsTest, LocksWithTheNamesOfTheirPlacesAreLocksLikeOthers) {
  Records records(url());
  ASSERT_EQ(said(records.swap("a", std::nullopt, "1")), "true");
  for (const char* name : {"a~record", "%records", "%records/a", "record"}) {
    const Result<Lease> lease = records.client().mutex(name, brief()).try_acquire();
    EXPECT_EQ(outcome_of(lease), "granted") << name;
    EXPECT_EQ(said(records.read(name)), "none");
    EXPECT_EQ(said(records.read("a")), "'1'");
    EXPECT_EQ(records.list().value().size(), 1U);
    EXPECT_EQ(records.client().list().value().size(), 1U) << name;
  }
}

// Each reads the number and stores the next one, if nobody was faster: no step is lost, and none counts twice. The
// values name their writer: two who store the same value both hear that it is there.
TEST_P(RecordsTest, ManyWhoIncrementANumberLoseNoStep) {
  constexpr int kClients = 4;
  constexpr int kSteps = 20;
  std::vector<std::jthread> threads;
  for (int client = 0; client < kClients; ++client) {
    threads.emplace_back([&, writer = " of writer " + std::to_string(client)] {
      Records records(url());
      for (int step = 0; step < kSteps && !HasFailure();) {
        const Result<Value> before = records.read("x");
        ASSERT_TRUE(before) << said(before);
        const int next = (*before ? std::stoi(**before) : 0) + 1;
        const Result<bool> swapped = records.swap("x", *before, std::to_string(next) + writer);
        ASSERT_TRUE(swapped) << said(swapped);
        if (*swapped) ++step;
      }
    });
  }
  threads.clear();
  EXPECT_THAT(said(Records(url()).read("x")),
              testing::StartsWith("'" + std::to_string(kClients * kSteps) + " of "));
}

TEST_P(RecordsTest, TheServersClockIsThatOfThisMachine) {
  Records records(url());
  const auto now = [] { return std::chrono::system_clock::now(); };
  const auto before = now();
  const Result<std::optional<WallTime>> told = records.time();
  ASSERT_TRUE(told) << why(told);
  if (!*told) GTEST_SKIP() << "it cannot be asked for its clock";
  EXPECT_GE(**told, before - 1s);
  EXPECT_LE(**told, now() + 1s);
}

}  // namespace holdfast::contract
