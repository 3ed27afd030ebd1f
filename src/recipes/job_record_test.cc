// The record of a job: it comes back as it was written, fits, and nothing else is taken for one.
#include "recipes/job_record.h"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::internal {
namespace {

Job example() {
  Job job;
  job.state = Job::State::failed;
  job.period = {*parse_time("2026-11-19T02:00:00.000000Z"),
                *parse_time("2026-11-20T02:00:00.000000Z")};
  job.schedule = "1d at 03:00 in Europe/Berlin";
  job.label = "alice@db1 pid 812: ./report";
  job.run = *ClaimId::from_hex("000102030405060708090a0b0c0d0e0f");
  job.token = Token(18'446'744'073'709'551'615U);
  job.started = *parse_time("2026-11-19T02:00:01.250000Z");
  job.ended = *parse_time("2026-11-19T02:04:11.000001Z");
  job.status = 3;
  job.attempt = 2;
  return job;
}

TEST(JobRecord, ComesBackAsItWasWritten) {
  const Job failed = example();
  EXPECT_EQ(parse_job("x", format_job(failed)).value(), failed);
  Job running = failed;
  running.state = Job::State::running;
  running.ended.reset();
  running.status.reset();
  EXPECT_EQ(parse_job("x", format_job(running)).value(), running);
}

TEST(JobRecord, FitsAndIsReadableWhateverTheLabel) {
  Job job = example();
  for (const std::string& label :
       {std::string(100'000, 'x'), std::string(5'000, '\n'), std::string("a\nstate done"),
        std::string("\xff\0\x1b[2J", 6), std::string(50'000, '\xc3')}) {
    job.label = label;
    const std::string record = format_job(job);
    EXPECT_LE(record.size(), kMaxRecordBytes);
    const Result<Job> read = parse_job("x", record);
    ASSERT_TRUE(read.ok()) << record;
    EXPECT_EQ(read->state, Job::State::failed);
  }
}

TEST(JobRecord, TimesOfAllOfHistoryComeBack) {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<std::int64_t> moments(-62'000'000'000'000'000,
                                                      250'000'000'000'000'000);
  for (int i = 0; i < 20'000; ++i) {
    const WallTime moment{std::chrono::microseconds(moments(random))};
    ASSERT_EQ(parse_time(format_time(moment)), moment) << format_time(moment);
  }
}

TEST(JobRecord, NothingButAWholeRecordIsOne) {
  const std::string record = format_job(example());
  for (std::size_t length = 0; length < record.size(); ++length) {
    const Result<Job> cut = parse_job("x", record.substr(0, length));
    ASSERT_FALSE(cut.ok() && length + 9 < record.size()) << "cut after " << length;
  }
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = record;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    const Result<Job> job = parse_job("x", changed);
    EXPECT_FALSE(job.ok()) << changed;
    return job.ok() ? std::string() : job.message();
  };
  EXPECT_NE(refused("holdfast-job 1", "holdfast-job 2").find("upgrade"), std::string::npos);
  EXPECT_NE(refused("holdfast-job 1", "something").find("something else"), std::string::npos);
  refused("state failed", "state running");
  refused("state failed", "state FAILED");
  refused("token 1", "token -1");
  refused("token 1", "token 99999999999999999999");
  refused("status 3", "status 3x");
  refused("status 3\n", "status 3\nmore\n");
  refused("attempt 2\n", "");
  refused("2026-11-19T02:00:00", "2026-02-30T02:00:00");
  refused("2026-11-20T02:00:00", "2026-11-19T02:00:00");
  refused("alice", "ali\x1b");
}

}  // namespace
}  // namespace holdfast::internal
