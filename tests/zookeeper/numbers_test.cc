// A lock whose child numbers run out. They have 31 bits; around the last, servers lose the order of
// those who come. The number is not for anybody to set, so a snapshot is changed.
#include <fstream>

#include "zookeeper_testing.h"

namespace holdfast::zookeeper_tests {
namespace {

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// How many children were ever created in a node, as the server will believe after its restart.
void set_child_number(ZooKeeperServer& server, const std::string& path, std::int32_t number) {
  server.restart();  // It takes a snapshot then.
  server.kill();
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(server.data())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("log.")) std::filesystem::remove(entry.path());
    if (!name.starts_with("snapshot.")) continue;
    if (newest.empty() ||
        std::filesystem::last_write_time(entry.path()) > std::filesystem::last_write_time(newest)) {
      newest = entry.path();
    }
  }
  std::string bytes = contents(newest);
  std::string wanted;
  zk::JuteWriter(wanted).bytes(path);
  const std::size_t at = bytes.find(wanted);
  ASSERT_NE(at, std::string::npos) << newest;
  // Behind the path: its data (empty), its ACL, czxid, mzxid, ctime, mtime, version.
  const std::size_t place = at + wanted.size() + 4 + 8 + 4 * 8 + 4;
  std::string value;
  zk::JuteWriter(value).int32(number);
  bytes.replace(place, 4, value);
  // At the end: a checksum of all before it, and "/".
  constexpr std::size_t kSeal = 8 + 5;
  std::string sum;
  zk::JuteWriter(sum).int64(adler32(std::string_view(bytes).substr(0, bytes.size() - kSeal)));
  bytes.replace(bytes.size() - kSeal, 8, sum);
  std::ofstream(newest, std::ios::binary) << bytes;
  server.restart();
}

class ZooKeeperNumbers : public testing::Test {
 protected:
  ZooKeeperNumbers() {
    {
      RawClient raw(server_.port());
      raw.create("/x");
      raw.create("/y");
    }
    set_child_number(server_, "/x", INT32_MAX - 2);
  }

  std::string first_number() {
    RawClient raw(server_.port());
    const std::vector<std::string> children = raw.children("/x");
    return children.empty() ? "" : children.front().substr(children.front().size() - 10);
  }

  // Nothing behind the tree in a snapshot, or there is a second checksum (3.9).
  ZooKeeperServer server_{{.properties = {"zookeeper.digest.enabled=false",
                                          "zookeeper.serializeLastProcessedZxid.enabled=false"}}};
};

TEST_F(ZooKeeperNumbers, StartAgainBeforeTheyRunOutAndTokensGoOnGrowing) {
  Client client = open(server_.url());
  Token last;
  for (int i = 0; i < 6; ++i) {
    const Lease lease = client.mutex("x", kLong).acquire().value();
    EXPECT_GT(lease.token(), last);
    last = lease.token();
    EXPECT_EQ(first_number(),
              i == 0 ? std::to_string(INT32_MAX - 2) : "000000000" + std::to_string(i - 1));
  }
}

// Without a pause between holders the lock is never without nodes, so it cannot be made anew.
TEST_F(ZooKeeperNumbers, UnderContentionNobodyHoldsByTheLastOne) {
  Client one = open(server_.url());
  Client two = open(server_.url());
  std::atomic<int> inside = 0;
  std::atomic<std::uint64_t> last = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      Mutex mutex = (i % 2 == 0 ? one : two).mutex("x", kLong);
      for (int round = 0; round < 20; ++round) {
        const Result<Lease> lease = mutex.try_acquire_for(60s);
        ASSERT_EQ(told(lease), "granted");
        EXPECT_EQ(++inside, 1);
        EXPECT_GT(lease->token().value(), last.load());
        last = lease->token().value();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(one.inspect("x").value().holders.empty());
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
