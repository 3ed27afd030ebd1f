// Bytes that no Redis server would say: the connection is given up, and all goes on by another.
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

struct Garbage {
  const char* name;
  std::string bytes;
};

std::ostream& operator<<(std::ostream& out, const Garbage& garbage) { return out << garbage.name; }

std::string noise() {
  std::mt19937 random(7);
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += static_cast<char>(random());
  return bytes;
}

const std::vector<Garbage>& all_garbage() {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace): test code
  static const std::vector<Garbage> all{
      {"Noise", noise()},
      {"Text", "HTTP/1.1 400 Bad Request\r\n\r\n"},
      {"AnUnaskedOk", "+OK\r\n"},
      {"AnUnaskedOne", ":1\r\n"},
      {"AnUnaskedToken", ":1700000000000000\r\n"},
      {"AnUnaskedError", "-ERR something\r\n"},
      {"ManyUnasked", ":1\r\n:0\r\n+OK\r\n$-1\r\n*0\r\n"},
      {"AMap", "%1\r\n+a\r\n:1\r\n"},
      {"APush", ">2\r\n+invalidate\r\n*1\r\n+x\r\n"},
      {"ANull", "_\r\n"},
      {"ADouble", ",1.5\r\n"},
      {"AHugeArray", "*2000000000\r\n"},
      {"ALargeArray", "*1000000\r\n"},
      {"ANegativeArray", "*-7\r\n"},
      {"ADeepArray", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"},
      {"AHugeText", "$2000000000\r\n"},
      {"ANegativeText", "$-7\r\n"},
      {"HalfAReply", "$30\r\nabc"},
      {"Zeros", std::string(100, '\0')},
      {"AFalseMessage", "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n"}};
  return all;
}

class RedisGarbage : public testing::TestWithParam<Garbage> {
 protected:
  RedisServer server_;
  Proxy proxy_{server_.port()};
  Client truth_ = open(server_.url());
  Client client_ = open(url_of(proxy_, "?command_timeout_ms=500"));
};

// The client's belief agrees with the server.
void expect_all_well(Client& client, Client& truth, const std::string& name) {
  Result<Lease> lease = client.mutex(name, kLong).try_acquire_for(8s);
  ASSERT_EQ(told(lease), "granted");
  EXPECT_EQ(lease->token().value(), visible_token(truth, name));
  EXPECT_EQ(told(lease->renew()), "granted");
  EXPECT_EQ(told(lease->release()), "granted");
  EXPECT_EQ(visible_token(truth, name), 0U);
}

TEST_P(RedisGarbage, BetweenCallsIsGotOver) {
  ASSERT_EQ(told(client_.mutex("x", kLong).try_acquire()), "granted");
  proxy_.inject(GetParam().bytes);
  pause_for(20ms);
  // The first call may find the connection dead; nothing may be wrong.
  Result<Lease> first = client_.mutex("first", kLong).try_acquire();
  if (first) {
    EXPECT_EQ(first->token().value(), visible_token(truth_, "first"));
    static_cast<void>(first->release());
  }
  for (int i = 0; i < 3; ++i) expect_all_well(client_, truth_, "x");
  expect_free_soon(truth_, "first", 5s);
}

TEST_P(RedisGarbage, AheadOfAReplyIsGotOver) {
  Result<Lease> held = client_.mutex("held", kLong).try_acquire();
  ASSERT_EQ(told(held), "granted");
  proxy_.set(Direction::to_client, ProxyMode::hold);
  Pending acquiring = in_thread([&] { return client_.mutex("x", kLong).try_acquire(); });
  ASSERT_TRUE(eventually([&] { return server_.command({"EXISTS", "x"}) == "1"; }));
  proxy_.inject(GetParam().bytes);
  proxy_.set(Direction::to_client, ProxyMode::pass);
  ASSERT_TRUE(arrives(acquiring));
  Result<Lease> lease = acquiring.get();
  // A valid answer to another question cannot be told from the right one.
  const std::string name = GetParam().name;
  const bool credible = name == "AnUnaskedToken" || name == "AnUnaskedError";
  if (lease && !credible) {
    EXPECT_EQ(lease->token().value(), visible_token(truth_, "x"));
  }
  if (lease) static_cast<void>(lease->release());
  if (!credible) expect_free_soon(truth_, "x", 8s);
  if (credible) pause_for(50ms);  // until the true answer came, and gave it away
  for (int i = 0; i < 3; ++i) expect_all_well(client_, truth_, "y");
  EXPECT_TRUE(held->held());
  EXPECT_EQ(told(held->renew()), "granted");
  EXPECT_EQ(told(held->release()), "granted");
}

TEST_P(RedisGarbage, WhileWaitingIsGotOver) {
  Result<Lease> lease = truth_.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending waiting = in_thread([&] { return client_.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(eventually([&] { return waiters(truth_, "x") == 1; }));
  pause_for(50ms);  // It knows that it waits.
  proxy_.inject(GetParam().bytes);
  pause_for(20ms);
  ASSERT_EQ(told(lease->release()), "granted");
  Result<Lease> got = waiting.get();
  ASSERT_EQ(told(got), "granted");
  EXPECT_EQ(got->token().value(), visible_token(truth_, "x"));
  EXPECT_EQ(told(got->release()), "granted");
  expect_all_well(client_, truth_, "x");
}

INSTANTIATE_TEST_SUITE_P(, RedisGarbage, testing::ValuesIn(all_garbage()),
                         [](const testing::TestParamInfo<Garbage>& garbage) {
                           return garbage.param.name;
                         });

}  // namespace
}  // namespace holdfast::redis_tests
