// Values as text, results that are read without care, and objects that were moved from.
#include "holdfast/print.h"

#include <sstream>

#if __has_include(<fmt/format.h>)
#define FMT_HEADER_ONLY
#include "holdfast/fmt.h"
#endif

#include "contract.h"
#include "holdfast/holdfast.h"
#include "temp_dir.h"

namespace holdfast {

namespace {

using namespace std::chrono_literals;
using contract::outcome_of;

template <class T>
std::string streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

Result<Token> refused() { return Failure(Code::not_held, "the lock 'x' was lost"); }

class MovedFrom : public testing::Test {
 protected:
  Client open() {
    return Client::open("sqlite://" + (directory_.path() / "locks.db").string()).value();
  }
  test::TempDir directory_;
  Client client_ = open();
};

}  // namespace

TEST(Values, ArePrintedOnOneLine) {
  EXPECT_EQ(streamed(Token(42)), "42");
  EXPECT_EQ(streamed(Name("a\nb")), "a\\x0Ab");
  EXPECT_EQ(streamed(Ticket(Token(7), Mode::shared)), "7 shared");
  EXPECT_EQ(streamed(Mode::permit), "permit");
  EXPECT_EQ(streamed(Code::not_held), "not_held");
  EXPECT_EQ(streamed(Outcome::busy), "busy");
  EXPECT_EQ(streamed(Severity::unfit), to_text(Severity::unfit));
  EXPECT_EQ(streamed(Exclusion::linearizable), to_text(Exclusion::linearizable));
  EXPECT_EQ(streamed(ClaimId()), std::string(32, '0'));
  EXPECT_EQ(streamed(refused()), "not_held: the lock 'x' was lost");
  EXPECT_EQ(streamed(refused().failure()), "not_held: the lock 'x' was lost");
  EXPECT_EQ(streamed(Result<Token>(Token(1))), "granted");
  EXPECT_EQ(streamed(Result<void>()), "granted");
  EXPECT_EQ(to_string(Duration(1500ms)), "1.5 s");
  // A string is a string, also in this namespace.
  EXPECT_EQ(streamed("a\nb"), "a\nb");
}

#ifdef FMT_HEADER_ONLY
TEST(Values, AreFormattedByFmt) {
  EXPECT_EQ(fmt::format("{:>5}|{}", Token(42), Name("x\x1b")), "   42|x\\x1B");
  EXPECT_EQ(fmt::format("{}", refused()), "not_held: the lock 'x' was lost");
}
#endif

#ifdef __cpp_lib_format
TEST(Values, AreFormattedByTheStandardLibrary) {
  EXPECT_EQ(std::format("{:>5}|{}", Token(42), Name("x\x1b")), "   42|x\\x1B");
  EXPECT_EQ(std::format("{}", refused()), "not_held: the lock 'x' was lost");
}
#endif

TEST(Results, TheMessageOfASuccessIsEmpty) {
  EXPECT_EQ(Result<Token>(Token(1)).message(), "");
  EXPECT_EQ(Result<void>().message(), "");
  EXPECT_EQ(refused().message(), "the lock 'x' was lost");
  EXPECT_THROW(static_cast<void>(Result<void>().failure()), std::exception);
  EXPECT_THROW(static_cast<void>(Result<Token>(Token(1)).failure()), std::exception);
}

// NOLINTBEGIN(bugprone-use-after-move)
TEST_F(MovedFrom, AClientIsClosedAndDoesNotThrow) {
  Lease lease = client_.mutex("x").acquire().value();
  const Handle handle = lease.detach().value();
  const Client moved = std::move(client_);
  EXPECT_EQ(outcome_of(client_.adopt(handle)), "closed");
  EXPECT_EQ(outcome_of(client_.renew(handle)), "closed");
  EXPECT_EQ(outcome_of(client_.release(handle)), "closed");
  EXPECT_EQ(outcome_of(client_.ping()), "closed");
  EXPECT_EQ(outcome_of(client_.examine()), "closed");
  EXPECT_EQ(outcome_of(client_.list()), "closed");
  EXPECT_EQ(outcome_of(client_.inspect("x")), "closed");
  EXPECT_EQ(outcome_of(client_.evict("x", Token(1))), "closed");
  EXPECT_EQ(outcome_of(client_.acquire_all({"x", "y"})), "closed");
}

TEST_F(MovedFrom, LocksAreClosedAndDoNotThrow) {
  Mutex mutex = client_.mutex("x");
  const Mutex moved = std::move(mutex);
  EXPECT_EQ(outcome_of(mutex.acquire()), "closed");
  EXPECT_EQ(outcome_of(mutex.try_acquire()), "closed");
  EXPECT_EQ(outcome_of(mutex.try_acquire_for(1s)), "closed");
  EXPECT_EQ(outcome_of(mutex.try_acquire_until(BootClock::now())), "closed");
  EXPECT_EQ(outcome_of(mutex.acquire_detached(Wait{})), "closed");
  EXPECT_EQ(outcome_of(mutex.async_acquire().get()), "closed");
  EXPECT_EQ(outcome_of(mutex.async_try_acquire_for(1s).get()), "closed");
  Election election = client_.election("e");
  const Election moved_election = std::move(election);
  EXPECT_EQ(outcome_of(election.campaign("me")), "closed");
  EXPECT_EQ(outcome_of(election.leader()), "closed");
  EXPECT_EQ(outcome_of(election.observe(Token())), "closed");
  MultiLock several = client_.multi_lock({"a", "b"});
  const MultiLock moved_several = std::move(several);
  EXPECT_EQ(outcome_of(several.acquire()), "closed");
  EXPECT_EQ(outcome_of(several.try_acquire()), "closed");
}
// NOLINTEND(bugprone-use-after-move)

TEST_F(MovedFrom, WrongOptionsOfAcquireAllAreAResult) {
  EXPECT_EQ(outcome_of(client_.acquire_all({"x"}, {.ttl = 0s})), "invalid_argument");
}

TEST_F(MovedFrom, AMultiLockOfNothingIsGranted) {
  Result<MultiLease> nothing = client_.multi_lock({}).acquire();
  EXPECT_EQ(outcome_of(nothing), "granted");
  EXPECT_EQ(outcome_of(nothing->release()), "granted");
}

}  // namespace holdfast
