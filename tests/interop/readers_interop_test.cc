// Curator's InterProcessReadWriteLock and our shared_mutex in one queue: readers of both sides are
// inside together, writers of both sides alone, and who waits to write is not overtaken by readers.
#include "crowd.h"
#include "queue_interop.h"

namespace holdfast::interop {

using contract::Child;
using testing::StartsWith;

class ZooKeeperReadersInterop : public QueueInteropTest {
 protected:
  ZooKeeperReadersInterop() : QueueInteropTest(QueuePeer::Engine::zookeeper) {}

  Child& us(int number = 0) { return shared("holdfast", number); }
  Child& them(int number = 0) { return shared("curator", number); }
  std::string ask(const char* verb) const { return ask_for(verb, kLongTtl); }
};

TEST_F(ZooKeeperReadersInterop, OurReaderLetsTheirReadersInAndKeepsTheirWriterOut) {
  ASSERT_THAT(us().ask(ask("shared")), StartsWith("granted"));
  ASSERT_EQ(them().ask(ask("try_shared")), "granted");
  EXPECT_EQ(them().ask("release"), "ok");
  EXPECT_EQ(them().ask(ask("try_write")), "busy");
  them().send(ask("write"));
  wait_for_queue_of(2);
  EXPECT_EQ(us().ask("release"), "ok");
  EXPECT_EQ(them().answer(), "granted");
  EXPECT_EQ(them().ask("release"), "ok");
}

TEST_F(ZooKeeperReadersInterop, TheirReaderLetsOurReadersInAndKeepsOurWriterOut) {
  ASSERT_EQ(them().ask(ask("shared")), "granted");
  ASSERT_THAT(us().ask(ask("try_shared")), StartsWith("granted"));
  EXPECT_EQ(us().ask("release"), "ok");
  EXPECT_EQ(us().ask(ask("try_write")), "busy");
  us().send(ask("write"));
  wait_for_queue_of(2);
  EXPECT_EQ(them().ask("release"), "ok");
  EXPECT_THAT(us().answer(), StartsWith("granted"));
  EXPECT_EQ(us().ask("release"), "ok");
}

TEST_F(ZooKeeperReadersInterop, AWriterOfEitherSideKeepsReadersAndWritersOfTheOtherOut) {
  ASSERT_THAT(us().ask(ask("write")), StartsWith("granted"));
  EXPECT_EQ(them().ask(ask("try_shared")), "busy");
  EXPECT_EQ(them().ask(ask("try_write")), "busy");
  EXPECT_EQ(us().ask("release"), "ok");
  ASSERT_EQ(them().ask(ask("write")), "granted");
  EXPECT_EQ(us().ask(ask("try_shared")), "busy");
  EXPECT_EQ(us().ask(ask("try_write")), "busy");
  EXPECT_EQ(them().ask("release"), "ok");
}

// them reads, we wait to write, they come to read: in this order they are served. And the other way.
TEST_F(ZooKeeperReadersInterop, ReadersThatComeAfterAWaitingWriterOfTheOtherSideWaitForIt) {
  const std::vector<std::pair<Child*, Child*>> sides{{&us(0), &them(0)}, {&them(0), &us(0)}};
  for (const auto& [writer, reader] : sides) {
    Child& first = us(1);
    ASSERT_THAT(first.ask(ask("shared")), StartsWith("granted"));
    writer->send(ask("write"));
    wait_for_queue_of(2);
    EXPECT_EQ(reader->ask(ask("try_shared")), "busy");
    reader->send(ask("shared"));
    wait_for_queue_of(3);
    ASSERT_EQ(first.ask("release"), "ok");
    ASSERT_THAT(writer->answer(), StartsWith("granted"));
    ASSERT_EQ(writer->ask("release"), "ok");
    ASSERT_THAT(reader->answer(), StartsWith("granted"));
    ASSERT_EQ(reader->ask("release"), "ok");
  }
}

TEST_F(ZooKeeperReadersInterop, AReaderThatIsKilledLetsTheOthersWriterInAfterItsTtl) {
  for (const bool ours : {true, false}) {
    Child victim = fresh(ours ? "holdfast" : "curator");
    const BootTime before = BootClock::now();
    ASSERT_THAT(victim.ask(ask_for("shared", kShortTtl)), StartsWith("granted"));
    victim.kill();
    Child& writer = ours ? them() : us();
    ASSERT_THAT(writer.ask(ask("write")), StartsWith("granted"));
    EXPECT_GE(BootClock::now() - before, kShortTtl);
    EXPECT_EQ(writer.ask("release"), "ok");
  }
}

TEST_F(ZooKeeperReadersInterop, WritersOfBothSidesNeverOverlapAndAllFinish) {
  constexpr int kPassesEach = 500;
  Crowd crowd;
  for (int i = 0; i < 2; ++i) {
    crowd.join(fresh("holdfast"), lock(), kPassesEach, "write_sections");
    crowd.join(fresh("curator"), lock(), kPassesEach, "write_sections");
  }
  crowd.run();
}

}  // namespace holdfast::interop
