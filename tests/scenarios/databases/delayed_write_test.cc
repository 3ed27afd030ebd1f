// Row 3 on MySQL and PostgreSQL: a write that is on its way for a minute and a half. The data is in the
// database of the lock. The network keeps the write until the test lets it go; that a session which says
// nothing for so long is ended is brought forward: here after a second.
#include <future>

#include "database.h"
#include "proxy.h"
#include "scenario_testing.h"

namespace holdfast::scenarios {
namespace {

using test::Direction;
using test::Proxy;
using test::ProxyMode;

class DelayedWrite : public testing::TestWithParam<std::string> {
 protected:
  DelayedWrite() {
    auto setup = server_.session(server_.port());
    for (const std::string& text : sql::tables(server_.dialect())) setup->value(text);
    setup->value("DROP TABLE IF EXISTS ledger");
    setup->value("CREATE TABLE ledger (id INT PRIMARY KEY, total INT NOT NULL)");
    setup->value("INSERT INTO ledger VALUES (1, 0)");
  }

  // The cell that the last of them returns.
  static std::string all(Session& session, const std::vector<std::string>& statements) {
    std::string cell;
    for (const std::string& text : statements) cell = session.value(text);
    return cell;
  }
  std::vector<std::string> lock() const { return sql::lock_in_transaction(server_.dialect(), "x"); }
  std::vector<std::string> admit(Token token) const {
    return sql::admit(server_.dialect(), "ledger", token);
  }
  std::string total() const {
    return server_.session(server_.port())->value("SELECT total FROM ledger");
  }
  static std::string write(int value) {
    return "UPDATE ledger SET total = " + std::to_string(value);
  }
  static int read(Session& session) { return std::stoi(session.value("SELECT total FROM ledger")); }

  // Sends it, to arrive when way_ passes again. True in the end if the server took it.
  std::future<bool> send_late(Session& session, const std::string& statement) {
    const std::int64_t before = way_.received(Direction::to_server);
    way_.set(Direction::to_server, ProxyMode::hold);
    auto sent = std::async(std::launch::async, [&session, statement] {
      try {
        session.value(statement);
        return true;
      } catch (const std::runtime_error&) {
        return false;
      }
    });
    EXPECT_TRUE(eventually([&] { return way_.received(Direction::to_server) > before; }));
    return sent;
  }
  void let_go() { way_.set(Direction::to_server, ProxyMode::pass); }

  Database& server_ = database(GetParam());
  Proxy way_{server_.port()};
  std::unique_ptr<Session> a_ = server_.session(way_.port());
  std::unique_ptr<Session> b_ = server_.session(server_.port());
};

INSTANTIATE_TEST_SUITE_P(All, DelayedWrite, testing::Values("mysql", "postgres"),
                         [](const auto& name) { return name.param; });

// given  A has a lease and has read; its write is on its way
// when   the lease ends, B acquires, adds 10, and then A's write arrives
// then   without a fence B's update is lost
TEST_P(DelayedWrite, WithoutAFenceItUndoesWhatTheNextHolderDid) {
  Client client = open(server_.url(server_.port(), "table"));
  Lease of_a = client.mutex("late").acquire().value();
  const int seen = read(*a_);
  std::future<bool> late = send_late(*a_, write(seen + 1));
  ASSERT_TRUE(of_a.release());  // As its ttl would; B cannot tell the difference.
  const Lease of_b = client.mutex("late").try_acquire_for(30s).value();
  b_->value(write(read(*b_) + 10));
  let_go();
  EXPECT_TRUE(late.get());
  EXPECT_EQ(total(), "1") << "of 1 + 10";
}

// The same, and both show their token before they read and before they write.
TEST_P(DelayedWrite, TheFenceRefusesIt) {
  Client client = open(server_.url(server_.port(), "table"));
  Lease of_a = client.mutex("late").acquire().value();
  const Token token_of_a = of_a.token();
  a_->value("BEGIN");
  ASSERT_EQ(all(*a_, admit(token_of_a)), "1");
  const int seen = read(*a_);
  a_->value("COMMIT");
  std::future<bool> begun = send_late(*a_, "BEGIN");
  ASSERT_TRUE(of_a.release());
  const Lease of_b = client.mutex("late").try_acquire_for(30s).value();
  b_->value("BEGIN");
  ASSERT_EQ(all(*b_, admit(of_b.token())), "1");
  b_->value(write(read(*b_) + 10));
  b_->value("COMMIT");
  let_go();
  ASSERT_TRUE(begun.get());
  EXPECT_EQ(all(*a_, admit(token_of_a)), "0") << "A may not write " << seen + 1;
  a_->value("ROLLBACK");
  EXPECT_EQ(total(), "10");
}

// given  lock and data are in one transaction of A's; it has read, and its write is on its way
// when   the server ends the session, B locks, adds 10 and commits, and then A's write arrives
// then   it fails: with the session its transaction is gone
TEST_P(DelayedWrite, InTheTransactionOfTheLockItFailsWithIt) {
  a_->be_impatient();
  a_->value("BEGIN");
  ASSERT_NE(all(*a_, lock()), "");
  const int seen = read(*a_);
  std::future<bool> late = send_late(*a_, write(seen + 1));
  b_->value("BEGIN");
  ASSERT_NE(all(*b_, lock()), "");  // Waits until A's session is ended.
  b_->value(write(read(*b_) + 10));
  b_->value("COMMIT");
  let_go();
  EXPECT_FALSE(late.get()) << "it changed what B had made";
  EXPECT_EQ(total(), "10");
}

// given  the same, but nothing ends the session
// when   B wants the lock while A's write is on its way
// then   B waits until A has written and committed, and sees it
TEST_P(DelayedWrite, InATransactionThatLivesItIsWaitedFor) {
  a_->value("BEGIN");
  ASSERT_NE(all(*a_, lock()), "");
  const int seen = read(*a_);
  std::future<bool> late = send_late(*a_, write(seen + 1));
  std::future<void> of_b = std::async(std::launch::async, [&] {
    b_->value("BEGIN");
    all(*b_, lock());
    b_->value(write(read(*b_) + 10));
    b_->value("COMMIT");
  });
  EXPECT_EQ(of_b.wait_for(500ms), std::future_status::timeout) << "B did not wait";
  let_go();
  EXPECT_TRUE(late.get());
  a_->value("COMMIT");
  of_b.get();
  EXPECT_EQ(total(), "11");
}

}  // namespace
}  // namespace holdfast::scenarios
