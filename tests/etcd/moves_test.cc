// Leadership that is moved by hand (or by an orderly shutdown): calls take longer, and none fails.
#include <algorithm>
#include <mutex>
#include <sstream>

#include "etcd_testing.h"

namespace holdfast::etcd_tests {
namespace {

// As `etcdctl` writes them, in the order of the server's members.
std::vector<std::string> ids_of(const EtcdServer& server) {
  std::vector<std::string> ids(server.size());
  const auto all_known = [&] {  // A member that has just started has not said yet where it is.
    std::istringstream lines(server.ctl({"member", "list"}));
    for (std::string line; std::getline(lines, line);) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (line.find(":" + std::to_string(server.port(i))) != std::string::npos) {
          ids[i] = line.substr(0, line.find(','));
        }
      }
    }
    return std::ranges::none_of(ids, &std::string::empty);
  };
  test::wait_for("all members", all_known);
  return ids;
}

// Clients that take and give back locks until they are told to end.
class Load {
 public:
  explicit Load(const EtcdServer& server) {
    for (int i = 0; i < 6; ++i) threads_.emplace_back([&, i] { work(server.url(), i); });
  }
  ~Load() { end(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void end() {
    over_ = true;
    threads_.clear();
  }
  int sections() const { return sections_; }
  // REQUIRES: it has ended.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  void work(const std::string& url, int number) {
    Client client = open(url);
    // Alone, without waiting: that fails at once if it fails. Then in a queue.
    Mutex own = client.mutex("own" + std::to_string(number), {.ttl = 10s});
    Mutex common = client.mutex("common", {.ttl = 10s});
    while (!over_) {
      Result<Lease> alone = own.try_acquire();
      expect_granted("try_acquire", told(alone));
      if (alone) expect_granted("release", told(alone->release()));
      Result<Lease> lease = common.try_acquire_for(60s);
      expect_granted("try_acquire_for", told(lease));
      if (!lease) continue;
      if (++inside_ != 1) expect_granted("exclusion", "two are inside");
      ++sections_;
      --inside_;
      expect_granted("release after a wait", told(lease->release()));
    }
  }
  void expect_granted(const std::string& what, const std::string& said) {
    if (said == "granted") return;
    const std::lock_guard lock(guard_);
    failures_.push_back(what + ": " + said);
  }

  std::atomic<bool> over_ = false;
  std::atomic<int> sections_ = 0;
  std::atomic<int> inside_ = 0;
  std::mutex guard_;
  std::vector<std::string> failures_;
  std::vector<std::jthread> threads_;
};

TEST(EtcdMoves, NoAcquireAndNoReleaseFailsWhileTheLeadershipMoves) {
  EtcdServer server({.count = 3});
  const std::vector<std::string> ids = ids_of(server);
  Load load(server);
  constexpr int kMoves = 40;
  int moved = 0;
  std::string said;
  for (int attempts = 0; moved < kMoves && attempts < 3 * kMoves; ++attempts) {
    const int before = load.sections();
    int status = 0;
    said = server.ctl({"move-leader", ids.at((server.leader() + 1) % ids.size())}, status);
    if (status == 0) ++moved;
    EXPECT_TRUE(eventually([&] { return load.sections() > before; })) << "it stands still";
  }
  load.end();
  EXPECT_EQ(moved, kMoves) << said;
  EXPECT_THAT(load.failures(), testing::IsEmpty()) << load.failures().size() << " failures";
}

}  // namespace
}  // namespace holdfast::etcd_tests
