// Every asynchronous operation of the library, by way of an Asio.
#include "asio_testing.h"

namespace holdfast::BRIDGE::test {

class SUITE(Operation) : public Fixture {
 protected:
  template <class T>
  static T wait(Async<T> async) {
    std::future<T> pending = initiate(std::move(async), net::use_future);
    if (!arrives(pending)) throw std::runtime_error("no completion");
    return pending.get();
  }
};

TEST_F(SUITE(Operation), MutexSharedMutexAndSemaphore) {
  SharedMutex shared = client.shared_mutex("s");
  Semaphore permits = client.semaphore("p", 2);
  const auto reader = wait(shared.async_acquire_shared());
  EXPECT_EQ(outcome_of(reader), "granted");
  EXPECT_EQ(outcome_of(wait(shared.async_try_acquire_shared())), "granted");
  EXPECT_EQ(outcome_of(wait(shared.async_try_acquire_shared_for(1s))), "granted");
  EXPECT_EQ(outcome_of(wait(shared.async_try_acquire())), "busy");
  const auto first = wait(permits.async_acquire());
  const auto second = wait(permits.async_acquire());
  EXPECT_EQ(outcome_of(second), "granted");
  EXPECT_EQ(outcome_of(wait(permits.async_try_acquire_for(10ms))), "busy");
}

TEST_F(SUITE(Operation), RecursiveMutex) {
  RecursiveMutex recursive = client.recursive_mutex("r");
  const int owner = 0;
  const int another = 0;
  const auto token = wait(recursive.async_lock(&owner));
  EXPECT_EQ(outcome_of(token), "granted");
  EXPECT_EQ(wait(recursive.async_lock(&owner)).value(), *token);
  EXPECT_EQ(recursive.depth(&owner), 2U);
  EXPECT_EQ(outcome_of(wait(recursive.async_try_lock(&another))), "busy");
  EXPECT_EQ(outcome_of(wait(recursive.async_try_lock_for(&another, 10ms))), "busy");
  EXPECT_FALSE(recursive.try_lock()) << "a thread is another owner";
  EXPECT_EQ(outcome_of(wait(recursive.async_unlock(&owner))), "granted");
  EXPECT_TRUE(recursive.held(&owner));
  EXPECT_EQ(outcome_of(wait(recursive.async_unlock(&owner))), "granted");
  EXPECT_EQ(wait(recursive.async_unlock(&owner)).code(), Code::not_held);
  EXPECT_TRUE(nothing_left("r"));
}

TEST_F(SUITE(Operation), MultiLock) {
  MultiLock several = client.multi_lock({"b", "a"});
  Result<MultiLease> all = wait(several.async_acquire());
  EXPECT_EQ(outcome_of(all), "granted");
  EXPECT_TRUE(all->held());
  EXPECT_EQ(outcome_of(wait(several.async_try_acquire())), "busy");
  EXPECT_EQ(outcome_of(wait(several.async_try_acquire_for(10ms))), "busy");
  EXPECT_EQ(outcome_of(wait(all->async_release())), "granted");
  EXPECT_TRUE(nothing_left("a"));
  EXPECT_EQ(outcome_of(wait(client.async_acquire_all({"a", "b"}))), "granted");
}

TEST_F(SUITE(Operation), Election) {
  Election election = client.election("e");
  EXPECT_EQ(wait(election.async_leader()).value().token, Token());
  Result<Lease> term = wait(election.async_campaign("here"));
  ASSERT_EQ(outcome_of(term), "granted");
  EXPECT_EQ(wait(election.async_observe(Token())).value().value, "here");
  EXPECT_EQ(wait(election.async_observe(term->token(), 10ms)).code(), Code::busy);
  EXPECT_EQ(outcome_of(wait(election.async_try_campaign_for("there", 10ms))), "busy");
  EXPECT_EQ(outcome_of(wait(term->async_release())), "granted");
}

TEST_F(SUITE(Operation), Lease) {
  Result<Lease> lease = wait(mutex.async_acquire());
  EXPECT_EQ(outcome_of(wait(lease->async_renew())), "granted");
  const Result<Handle> handle = wait(lease->async_detach());
  ASSERT_EQ(outcome_of(handle), "granted");
  EXPECT_FALSE(*lease) << "it was detached";
  EXPECT_EQ(wait(lease->async_renew()).code(), Code::closed);
  EXPECT_EQ(wait(lease->async_release()).code(), Code::closed);
  EXPECT_EQ(wait(lease->async_detach()).code(), Code::closed);
  EXPECT_EQ(outcome_of(wait(client.async_renew(*handle))), "granted");
  Result<Lease> adopted = wait(client.async_adopt(*handle));
  EXPECT_EQ(outcome_of(adopted), "granted");
  EXPECT_EQ(outcome_of(wait(adopted->async_release())), "granted");
  const Result<Handle> detached = wait(mutex.async_acquire_detached(Wait{}));
  ASSERT_EQ(outcome_of(detached), "granted");
  EXPECT_EQ(outcome_of(wait(client.async_release(*detached))), "granted");
  EXPECT_TRUE(nothing_left("x"));
}

TEST_F(SUITE(Operation), Client) {
  const Lease lease = mutex.acquire().value();
  EXPECT_EQ(outcome_of(wait(client.async_ping())), "granted");
  EXPECT_EQ(outcome_of(wait(client.async_examine())), "granted");
  EXPECT_EQ(wait(client.async_list()).value().size(), 1U);
  EXPECT_EQ(wait(client.async_inspect("x")).value().holders.size(), 1U);
  EXPECT_EQ(outcome_of(wait(client.async_evict("x", lease.token()))), "granted");
  const auto task = [&]() -> Task<Result<Token>> {
    Result<Lease> mine = co_await client.mutex("y").async_acquire();
    if (!mine) co_return mine.failure();
    co_return mine->token();
  };
  EXPECT_EQ(outcome_of(wait(client.async_run(task()))), "granted");
}

TEST_F(SUITE(Operation), AMovedFromClientIsClosed) {
  Client moved = std::move(client);
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_EQ(wait(client.async_ping()).code(), Code::closed);
  EXPECT_EQ(wait(client.async_inspect("x")).code(), Code::closed);
  EXPECT_EQ(wait(client.async_acquire_all({"x"})).code(), Code::closed);
  EXPECT_EQ(client.list().code(), Code::closed);
  EXPECT_EQ(client.evict("x", Token(1)).code(), Code::closed);
  EXPECT_EQ(client.acquire_all({"x"}).code(), Code::closed);
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace holdfast::BRIDGE::test
