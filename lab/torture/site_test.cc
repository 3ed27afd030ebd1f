#include "lab/torture/site.h"

#include <gtest/gtest.h>

#include "server_process.h"
#include "waiting.h"

namespace holdfast::lab {
namespace {

// A server that keeps what is written to one folder.
class Keeper : public SiteServer {
 public:
  Keeper(std::filesystem::path data, std::unique_ptr<test::ServerProcess> process)
      : data_(std::move(data)), process_(std::move(process)) {}

  int port() const override { return 0; }
  void pause() override { process_->pause(); }
  void resume() override { process_->resume(); }
  void kill() override { process_->kill(); }
  void restart() override {}
  bool alive() override { return process_->running(); }
  std::vector<std::filesystem::path> data() const override { return {data_}; }

 private:
  std::filesystem::path data_;
  std::unique_ptr<test::ServerProcess> process_;
};

// etcd under load, whose members were copied one after the other and held elections meanwhile, came
// back with two histories and never agreed again: "stranded".
TEST(SiteTest, ABackupOfSeveralServersIsOfOneMoment) {
  // One process, the first server, writes to both, as members keep one log.
  const test::TempDir folder;
  const auto first = folder.path() / "1";
  const auto second = folder.path() / "2";
  std::filesystem::create_directories(first);
  std::filesystem::create_directories(second);
  const auto size = [](const std::filesystem::path& data) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(data / "log", none);
    return none ? std::int64_t{0} : static_cast<std::int64_t>(bytes);
  };
  const auto start = [&](const std::string& script, const std::string& log) {
    return std::make_unique<test::ServerProcess>(
        std::vector<std::string>{test::find_program("sh", "dash"), "-c", script,
                                 first.string() + "/log", second.string() + "/log"},
        folder.path() / log);
  };
  std::vector<std::unique_ptr<SiteServer>> servers;
  servers.push_back(std::make_unique<Keeper>(
      first, start("while :; do echo >>\"$0\"; echo >>\"$1\"; done", "writer")));
  servers.push_back(std::make_unique<Keeper>(second, start("exec sleep 60", "other")));
  Site site(std::move(servers), [](const std::vector<int>&) { return ""; }, false);
  test::wait_for("something to be written", [&] { return size(second) > 0; });

  site.back_up(site.all());
  const std::int64_t since = size(first);
  test::wait_for("the writer to go on", [&] { return size(first) > since; });
  site.restart_together(site.all(), [](SiteServer& server) { server.forget(); });

  EXPECT_GT(size(first), 0);
  EXPECT_GE(size(first) - size(second), 0);
  EXPECT_LE(size(first) - size(second), 1);
}

}  // namespace
}  // namespace holdfast::lab
