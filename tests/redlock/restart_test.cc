// Nodes that restart with data: all of it, or an older copy. Nothing that they are set to tells which.
#include <filesystem>

#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

namespace fs = std::filesystem;

// A lease whose end a test can wait for; the longest ttl that anybody uses is as long.
constexpr LockOptions kBrief{.ttl = 2s};
constexpr LockOptions kUnrenewed{.ttl = 3s, .auto_renew = false};
constexpr Duration kSilence = 2s;

// Three masters, by default such that write everything down before they answer.
class RedlockRestart : public testing::Test {
 protected:
  explicit RedlockRestart(const std::string& appendfsync = "always")
      : masters_({.count = 3, .durable = true, .arguments = {"--appendfsync", appendfsync}}) {}
  void SetUp() override {
    for (Client* client : {&a_, &b_}) {
      Result<Lease> lease = client->mutex("warm", kBrief).try_acquire_for(5s);
      ASSERT_EQ(told(lease), "granted");
      ASSERT_EQ(told(lease->release()), "granted");
    }
    // Later clients must not have to tell a node of anything.
    ASSERT_TRUE(eventually([&] {
      return epoch_of(marker(0)) == epoch_of(marker(1)) && votes(1) &&
             epoch_of(marker(0)) == epoch_of(marker(2)) && votes(0);
    }));
  }

  std::string url() const { return masters_.url() + "?longest_ttl_ms=2000"; }
  RedisServer& at(std::size_t index) { return masters_.at(index); }
  std::string marker(std::size_t index) { return at(index).command({"GET", kMarker}); }
  // By its marker, which may be that of another process.
  bool votes(std::size_t node) { return !marker(node).empty() && marker(node)[0] < 'a'; }
  bool votes_in_this_process(std::size_t node) {
    const std::string info = at(node).command({"INFO", "server"});
    const std::size_t run = info.find("run_id:") + 7;
    return votes(node) && marker(node).find(info.substr(run, 40)) != std::string::npos;
  }
  bool eventually_votes(Client& client, std::size_t node) {
    return eventually([&] {
      static_cast<void>(client.mutex("look", kBrief).try_acquire());
      pause_for(20ms);
      return votes_in_this_process(node);
    });
  }

  // A copy of the directory, while the server runs, as a backup has it.
  fs::path backup(std::size_t node) {
    const fs::path copy = copies_.path() / std::to_string(node);
    fs::remove_all(copy);
    fs::copy(at(node).directory() / "appendonlydir", copy, fs::copy_options::recursive);
    return copy;
  }
  void restore(std::size_t node, const fs::path& copy) {
    at(node).kill();
    const fs::path live = at(node).directory() / "appendonlydir";
    fs::remove_all(live);
    fs::copy(copy, live, fs::copy_options::recursive);
    at(node).restart();
  }
  // As if the tokens of "x" had been given by a client whose clock is so far ahead: those of the next
  // client, left to its own clock, would be lower.
  void run_ahead(const std::vector<std::size_t>& nodes, std::chrono::minutes by = 30min) {
    const auto now = std::chrono::system_clock::now().time_since_epoch() + by;
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    for (const std::size_t node : nodes) {
      at(node).command({"SET", kFence, std::to_string(us) + ' ' + std::string(32, '0')});
    }
  }
  Token take(Client& client, const std::string& name = "x") {
    Result<Lease> lease = client.mutex(name, kBrief).try_acquire_for(20s);
    EXPECT_EQ(told(lease), "granted");
    return lease ? lease->token() : Token();
  }

  // B gets it, but not while A holds it, and with a higher token.
  void expect_turn_after(const Lease& of_a) {
    const Result<Lease> of_b = b_.mutex("x", kBrief).try_acquire_for(20s);
    ASSERT_EQ(told(of_b), "granted");
    EXPECT_GE(BootClock::now(), of_a.valid_until()) << "two hold it";
    EXPECT_GT(of_b->token(), of_a.token());
  }

  test::TempDir copies_;
  RedisMasters masters_;
  Client a_ = open(url());
  Client b_ = open(url());
};

// given  one node is down, and A holds the two others with a token ahead of B's clock
// when   one of these comes back from an older copy, and the third returns
// then   B waits until A's lease has ended, and its token is higher
TEST_F(RedlockRestart, ANodeThatIsRestoredFromAnOlderCopyDoesNotVote) {
  const fs::path copy = backup(0);
  at(2).kill();
  run_ahead({0, 1});
  Result<Lease> of_a = a_.mutex("x", kUnrenewed).try_acquire_for(5s);
  ASSERT_EQ(told(of_a), "granted");
  restore(0, copy);
  ASSERT_EQ(at(0).command({"CONFIG", "GET", "appendfsync"}), "appendfsync\nalways");
  ASSERT_EQ(at(0).command({"EXISTS", kWord}), "0") << "the copy is not older";
  at(2).restart();
  expect_turn_after(*of_a);
}

// Votes that were not on the disk yet; what the server is set to since does not bring them back.
TEST_F(RedlockRestart, ANodeThatForgotTheLastSecondAndIsDurableNowDoesNotVote) {
  at(0).command({"CONFIG", "SET", "appendfsync", "everysec"});
  fs::path log;
  for (const auto& file : fs::directory_iterator(at(0).directory() / "appendonlydir")) {
    if (file.path().string().find(".incr.") != std::string::npos) log = file.path();
  }
  const auto size = fs::file_size(log);
  at(2).kill();
  run_ahead({0, 1});
  Result<Lease> of_a = a_.mutex("x", kUnrenewed).try_acquire_for(5s);
  ASSERT_EQ(told(of_a), "granted");
  at(0).kill();
  ASSERT_GT(fs::file_size(log), size);
  fs::resize_file(log, size);
  at(0).restart();
  ASSERT_EQ(at(0).command({"CONFIG", "GET", "appendfsync"}), "appendfsync\nalways");
  at(2).restart();
  expect_turn_after(*of_a);
}

TEST_F(RedlockRestart, ARestoredNodeRejoinsWithTheTokensOfTheOthers) {
  const fs::path copy = backup(0);
  run_ahead({0, 1, 2});
  const Token before = take(a_);
  restore(0, copy);
  EXPECT_GT(take(b_), before) << "the others are a majority";
  ASSERT_TRUE(eventually_votes(b_, 0));
  const Token last = take(a_);
  at(1).kill();
  EXPECT_GT(take(b_), last) << "with its vote";
}

// A copy that was made in the midst of a rejoin: its silence seems to be over.
TEST_F(RedlockRestart, ARejoinDoesNotSpanARestart) {
  const std::string epoch = epoch_of(marker(0));
  at(0).command({"SET", kMarker, "joining " + epoch + " 2000 3 0 1 abcdef 1"});
  EXPECT_EQ(told(b_.mutex("x", kBrief).try_acquire_for(5s)), "granted");
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(b_.mutex("look", kBrief).try_acquire());
    return marker(0).starts_with("joining ") && marker(0).find("abcdef") == std::string::npos;
  })) << marker(0);
  EXPECT_NE(epoch_of(marker(0).substr(8)), epoch) << "it may have voted in that one";
}

// ---- Too many at once --------------------------------------------------------------------------

// As most people set them.
class RedlockRack : public RedlockRestart {
 protected:
  RedlockRack() : RedlockRestart("everysec") {}
};

TEST_F(RedlockRack, AllNodesThatRestartWithTheirDataVoteAgainByThemselves) {
  run_ahead({0, 1, 2});
  const Token before = take(a_);
  for (const std::size_t node : {0, 1, 2}) at(node).kill();
  for (const std::size_t node : {0, 1, 2}) at(node).restart();
  const BootTime begun = BootClock::now();
  // It says what it waits for.
  const std::string said = told(b_.mutex("x", kBrief).try_acquire_for(300ms));
  EXPECT_THAT(said, StartsWith("unreachable"));
  EXPECT_THAT(said, HasSubstr("has restarted and does not vote yet: it votes again in 2 s"));
  const Token next = take(b_);
  EXPECT_GT(next, before);
  EXPECT_GE(since(begun), kSilence) << "what was held then may be held still";
  Client fresh = open(url());
  EXPECT_GT(take(fresh), next);
  EXPECT_GT(take(a_), next);
}

TEST_F(RedlockRack, AMajorityThatRestartsVotesAgainWithTheNodeThatDidNot) {
  const Token before = take(a_);
  for (const std::size_t node : {0, 1}) at(node).restart();
  EXPECT_GT(take(b_), before);
  EXPECT_GT(take(a_, "another"), before);
}

// One is down for longer than anybody wants to wait.
TEST_F(RedlockRack, ANodeThatRestartsWhileAnotherIsDownVotesAgain) {
  const Token before = take(a_);
  at(2).kill();
  at(1).restart();
  const Token next = take(b_);
  EXPECT_GT(next, before);
  at(2).restart();
  ASSERT_TRUE(eventually_votes(a_, 2));
  EXPECT_GT(take(a_), next);
}

// Nobody remembers the last token: the nodes' clocks go on above it, also for a lock that is in no
// copy at all.
TEST_F(RedlockRack, NodesThatAreAllRestoredGoOnAboveWhatTheyForgot) {
  std::vector<fs::path> copies;
  for (const std::size_t node : {0, 1, 2}) copies.push_back(backup(node));
  run_ahead({0, 1, 2});
  const Token before = take(a_);
  for (const std::size_t node : {0, 1, 2}) restore(node, copies[node]);
  ASSERT_EQ(at(0).command({"EXISTS", kFence}), "0") << "the copy is not older";
  const Token next = take(b_);
  EXPECT_GT(next, before);
  EXPECT_GT(take(b_), next);
  EXPECT_GT(take(a_), next);
}

// A proposes what no node accepts, an hour ahead of all clocks; the next guess must be none that the
// nodes were refounded above.
TEST_F(RedlockRack, AClientThatIsFarAheadOfRefoundedNodesGetsTheLock) {
  run_ahead({0, 1, 2}, 180min);
  take(a_);
  for (const std::size_t node : {0, 1, 2}) at(node).command({"DEL", kFence});
  for (const std::size_t node : {0, 1, 2}) at(node).restart();
  take(b_, "another");
  const Token of_a = take(a_);
  EXPECT_GT(take(b_), of_a);
}

// The clock of a node is ten minutes ahead, so are the epoch and the floor that it was refounded with,
// and A got a token there. Then all nodes are restored to what was before, and that clock is right.
// A remembers the epoch; but the nodes have voted in it, and do not know.
TEST_F(RedlockRack, AnEpochThatTheNodesHaveForgottenIsNotGivenToThemAgain) {
  std::vector<fs::path> copies;
  for (const std::size_t node : {0, 1, 2}) copies.push_back(backup(node));
  const auto ahead = std::chrono::system_clock::now().time_since_epoch() + 10min;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(ahead).count();
  const std::string floor = std::to_string((ms + 3'600'000) * 1000);
  for (const std::size_t node : {0, 1, 2}) {
    const std::string rest = marker(node).substr(epoch_of(marker(node)).size());
    at(node).command({"SET", kMarker, std::to_string(ms) + ".7" + rest + " above=" + floor});
  }
  const Token forgotten = take(a_);
  ASSERT_EQ(forgotten.str(), std::to_string((ms + 3'600'000) * 1000 + 1));
  for (const std::size_t node : {0, 1, 2}) restore(node, copies[node]);
  take(b_, "another");
  take(a_, "another");
  EXPECT_GT(take(b_), forgotten);
}

TEST_F(RedlockRack, AnEmptyNodeRejoinsWhenTheOthersHaveRefounded) {
  const Token before = take(a_);
  at(2).command({"FLUSHALL"});
  for (const std::size_t node : {0, 1}) at(node).restart();
  EXPECT_GT(take(b_), before);
  ASSERT_TRUE(eventually_votes(b_, 2));
  at(0).kill();
  EXPECT_GT(take(a_), before);
}

// Two that lost their data, and one that restarted: it remembers alone.
TEST_F(RedlockRack, AMajorityOfEmptyNodesIsForAPerson) {
  take(a_);
  for (const std::size_t node : {0, 1}) at(node).command({"FLUSHALL"});
  at(2).restart();
  const std::string said = told(b_.mutex("x", kBrief).try_acquire_for(5s));
  EXPECT_THAT(said, HasSubstr("2 of 3 nodes have lost their data"));
  EXPECT_THAT(said, HasSubstr("delete the key holdfast:redlock"));
}

// ---- Those who hold ----------------------------------------------------------------------------

// One node after the other, as for an upgrade: two of three would be a majority that left it.
TEST_F(RedlockRestart, AHolderKeepsItsLeaseWhileNodesRestartOneAfterTheOther) {
  Result<Lease> lease = a_.mutex("x", {.ttl = 4s}).try_acquire_for(5s);
  ASSERT_EQ(told(lease), "granted");
  for (const std::size_t node : {0, 1}) {
    at(node).restart();
    ASSERT_TRUE(eventually_votes(b_, node));
    // It votes for the holder again: its fence names the claim.
    EXPECT_TRUE(eventually([&] {
      pause_for(100ms);
      return at(node).command({"GET", kFence}).find(std::string(32, '0')) == std::string::npos;
    })) << at(node).command({"GET", kFence});
    ASSERT_EQ(told(lease->renew()), "granted");
  }
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(outcome_of(b_.mutex("x", kBrief).try_acquire()), "busy");
}

TEST_F(RedlockRestart, ItIsWarnedOf) {
  auto listener = std::make_shared<Listener>();
  Client client = open(url(), {.observer = listener});
  take(client);
  at(1).restart();
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(client.mutex("x", kBrief).try_acquire());
    return !listener->warnings().empty();
  }));
  EXPECT_THAT(listener->warnings(),
              Contains(HasSubstr("has restarted; it votes again when it has been silent for 2 s")));
}

}  // namespace
}  // namespace holdfast::redlock_tests
