#include "base/reactor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <thread>

#include "holdfast/result.h"

namespace holdfast::internal {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// Two sockets that are connected: what is written to one can be read from the other.
struct Pair {
  Pair() {
    std::array<int, 2> both{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both.data()), 0);
    ours = Descriptor(both[0]);
    theirs = Descriptor(both[1]);
  }
  void arrive() const { EXPECT_EQ(write(theirs.number(), "x", 1), 1); }
  Descriptor ours;
  Descriptor theirs;
};

struct Handler final : Reactor::Handler {
  void on_readable() override {
    ++readable;
    if (then) then();
  }
  void on_writable() override {
    ++writable;
    if (then) then();
  }
  int readable = 0;
  int writable = 0;
  std::function<void()> then;
};

// As the driver does it; the alarm ends a wait in which nothing comes.
void run_once(Reactor& reactor, Duration patience = 50ms) {
  reactor.wake_at(BootClock::now() + patience);
  if (reactor.prepare()) reactor.wait();
  reactor.dispatch();
}

TEST(ReactorTest, TellsOfWhatIsThereUntilItIsTaken) {
  Reactor reactor;
  const Pair pair;
  Handler handler;
  const Reactor::Registration watch(reactor, pair.ours.number(), handler, {.read = true});
  run_once(reactor, 1ms);
  EXPECT_EQ(handler.readable, 0);
  pair.arrive();
  run_once(reactor);
  run_once(reactor);
  EXPECT_EQ(handler.readable, 2);
  char byte = 0;
  EXPECT_EQ(read(pair.ours.number(), &byte, 1), 1);
  run_once(reactor, 1ms);
  EXPECT_EQ(handler.readable, 2);
  EXPECT_EQ(handler.writable, 0);
}

TEST(ReactorTest, InterestCanChange) {
  Reactor reactor;
  const Pair pair;
  Handler handler;
  Reactor::Registration watch(reactor, pair.ours.number(), handler, {});
  pair.arrive();
  run_once(reactor, 1ms);
  EXPECT_EQ(handler.readable + handler.writable, 0);
  watch.set({.write = true});
  run_once(reactor);
  EXPECT_EQ(handler.readable, 0);
  EXPECT_EQ(handler.writable, 1);
  watch.set({.read = true});
  run_once(reactor);
  EXPECT_EQ(handler.readable, 1);
  EXPECT_EQ(handler.writable, 1);
}

// Without interest, an end that stays would be reported for ever.
TEST(ReactorTest, WithoutInterestAnEndedConnectionWakesNobody) {
  Reactor reactor;
  Pair pair;
  Handler handler;
  const Reactor::Registration watch(reactor, pair.ours.number(), handler, {});
  pair.theirs.reset();
  const BootTime begin = BootClock::now();
  run_once(reactor, 30ms);
  EXPECT_GE(BootClock::now() - begin, 30ms);
}

// The event is on its way when the descriptor is closed, and its number is used again.
TEST(ReactorTest, AnEventOfAFormerDescriptorReachesNobody) {
  Reactor reactor;
  Pair former;
  Handler old_handler;
  std::optional<Reactor::Registration> watch;
  watch.emplace(reactor, former.ours.number(), old_handler, Reactor::Interest{.read = true});
  former.arrive();
  ASSERT_TRUE(reactor.prepare());
  reactor.wait();
  const int number = former.ours.number();
  watch.reset();
  former.ours.reset();
  const Pair next;
  ASSERT_EQ(next.ours.number(), number) << "the number was not used again";
  Handler handler;
  const Reactor::Registration other(reactor, number, handler, {.read = true});
  reactor.dispatch();
  EXPECT_EQ(old_handler.readable, 0);
  EXPECT_EQ(handler.readable, 0);
  next.arrive();
  run_once(reactor);
  EXPECT_EQ(handler.readable, 1);
}

TEST(ReactorTest, AHandlerMayEndAnotherAndItself) {
  Reactor reactor;
  std::array<Pair, 2> pairs;
  std::array<Handler, 2> handlers;
  std::array<std::optional<Reactor::Registration>, 2> watches;
  const auto end_all = [&] {
    for (std::size_t i = 0; i < 2; ++i) {
      watches[i].reset();
      pairs[i].ours.reset();
    }
  };
  for (std::size_t i = 0; i < 2; ++i) {
    handlers[i].then = end_all;
    watches[i].emplace(reactor, pairs[i].ours.number(), handlers[i],
                       Reactor::Interest{.read = true, .write = true});
    pairs[i].arrive();
  }
  run_once(reactor);
  EXPECT_EQ(handlers[0].readable + handlers[1].readable, 1);
  EXPECT_EQ(handlers[0].writable + handlers[1].writable, 0);
  EXPECT_EQ(reactor.size(), 0U);
}

TEST(ReactorTest, AHandlerMayRegisterMany) {
  Reactor reactor;
  const Pair pair;
  Handler handler;
  std::array<Pair, 40> others;
  std::array<Handler, 40> their_handlers;
  std::array<std::optional<Reactor::Registration>, 40> watches;
  handler.then = [&] {
    for (std::size_t i = 0; i < others.size(); ++i) {
      watches[i].emplace(reactor, others[i].ours.number(), their_handlers[i],
                         Reactor::Interest{.read = true});
    }
    handler.then = nullptr;
  };
  const Reactor::Registration watch(reactor, pair.ours.number(), handler,
                                    {.read = true, .write = true});
  pair.arrive();
  run_once(reactor);
  EXPECT_EQ(handler.readable, 1);
  EXPECT_EQ(handler.writable, 1);
  EXPECT_EQ(reactor.size(), 41U);
}

TEST(ReactorTest, OneDescriptorIsRegisteredOnce) {
  Reactor reactor;
  const Pair pair;
  Handler handler;
  const Reactor::Registration watch(reactor, pair.ours.number(), handler, {.read = true});
  EXPECT_THROW(Reactor::Registration(reactor, pair.ours.number(), handler, {.read = true}),
               LockError);
  EXPECT_EQ(reactor.size(), 1U);
}

TEST(ReactorTest, AnExceptionLosesNoEvent) {
  Reactor reactor;
  std::array<Pair, 2> pairs;
  std::array<Handler, 2> handlers;
  std::array<std::optional<Reactor::Registration>, 2> watches;
  for (std::size_t i = 0; i < 2; ++i) {
    handlers[i].then = [] { throw std::bad_alloc(); };
    watches[i].emplace(reactor, pairs[i].ours.number(), handlers[i],
                       Reactor::Interest{.read = true});
    pairs[i].arrive();
  }
  EXPECT_THROW(run_once(reactor), std::bad_alloc);
  for (Handler& handler : handlers) handler.then = nullptr;
  run_once(reactor);
  EXPECT_GE(handlers[0].readable, 1);
  EXPECT_GE(handlers[1].readable, 1);
}

TEST(ReactorTest, AKickEndsAWait) {
  Reactor reactor;
  for (int i = 0; i < 100; ++i) {
    std::thread kicker([&] { reactor.kick(); });
    if (reactor.prepare()) reactor.wait();
    reactor.dispatch();
    kicker.join();
  }
  // One that came too late for the last wait counts for the next.
  reactor.kick();
  EXPECT_FALSE(reactor.prepare());
  EXPECT_TRUE(reactor.prepare());
  reactor.unprepare();
}

// The child shares the epoll instance: what it ends must not end for its parent.
TEST(ReactorTest, AForkedChildEndsNothingOfItsParents) {
  Reactor reactor;
  const Pair pair;
  Handler handler;
  std::optional<Reactor::Registration> watch;
  watch.emplace(reactor, pair.ours.number(), handler, Reactor::Interest{.read = true});
  const pid_t child = fork();
  if (child == 0) {
    watch.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  pair.arrive();
  run_once(reactor);
  EXPECT_EQ(handler.readable, 1);
}

}  // namespace
}  // namespace holdfast::internal
