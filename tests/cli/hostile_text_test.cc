// Text that strangers choose (names, labels, a server's words, file names) is data in every output.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "cli_fixture.h"
#include "hostile.h"

namespace holdfast::test {
namespace {

class HostileTextTest : public CliTest {
 protected:
  // Runs it for people and as JSON, and judges all that it prints. Words without --on mean ours.
  void expect_harmless(const Words& words) const {
    SCOPED_TRACE(testing::PrintToString(words));
    const bool elsewhere = std::ranges::find(words, "--on") != words.end();
    Words as_json = words;
    as_json.insert(as_json.begin(), "--json");
    judge(elsewhere ? run_bare(words) : run(words), false);
    judge(elsewhere ? run_bare(as_json) : run(as_json), true);
  }
  static void judge(const Output& output, bool json) {
    EXPECT_TRUE(is_harmless(output.out)) << testing::PrintToString(output.out);
    EXPECT_TRUE(is_harmless(output.err)) << testing::PrintToString(output.err);
    for (const std::string* text : {&output.out, &output.err}) {
      EXPECT_EQ(("\n" + *text).find("\nholdfast: forged"), std::string::npos) << *text;
    }
    if (!json || output.out.empty()) return;
    EXPECT_TRUE(is_ascii(output.out)) << testing::PrintToString(output.out);
    EXPECT_FALSE(nlohmann::json::parse(output.out, nullptr, false).is_discarded()) << output.out;
  }
};

// Everybody sees it who meets the lock.
TEST_F(HostileTextTest, TheLabelOfAHolderIsData) {
  for (const std::string& label : kUnprintable) {
    SCOPED_TRACE(testing::PrintToString(label));
    Process holder =
        start({"run", "x", "--label=" + label, "--", "sh", "-c", "echo up; exec sleep 600"});
    ASSERT_TRUE(eventually([&] { return holder.out() == "up\n"; })) << holder.err();
    Process waiter = start({"run", "x", "--label=" + label, "--", "true"});
    ASSERT_TRUE(eventually([&] { return json({"show", "x"})["waiters"].size() == 1; }));
    expect_harmless({"run", "x", "--no-wait", "--", "true"});
    expect_harmless({"acquire", "x", "--no-wait"});
    expect_harmless({"ls"});
    expect_harmless({"show", "x"});
    holder.kill(SIGTERM);
    EXPECT_EQ(holder.wait().status, 143);
    EXPECT_EQ(waiter.wait().status, 0);
  }
}

TEST_F(HostileTextTest, TheNameOfALockIsData) {
  for (const std::string& name : all_hostile()) {
    ASSERT_EQ(run({"acquire", "--ttl", "10m", "--", name}).status, 0);
  }
  for (const std::string& name : kUnprintable) {
    expect_harmless({"show", "--", name});
    expect_harmless({"acquire", "--no-wait", "--", name});
    expect_harmless({"break", "--token", "999999999", "--", name});
  }
  expect_harmless({"ls"});
  // The name itself is there, whole.
  const auto listed = json({"ls"});
  std::vector<std::string> names;
  for (const auto& lock : listed["locks"]) names.push_back(lock["name"]);
  for (const std::string& name : kMeaningful) {
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  }
}

// Scripts and cron jobs pass on what they were given.
TEST_F(HostileTextTest, WordsOfTheCommandLineAreData) {
  for (const std::string& word : kUnprintable) {
    expect_harmless({word});
    expect_harmless({"run", "x", "--ttl", word, "--", "true"});
    expect_harmless({"run", "x", "--", word});
    expect_harmless({"run", "x", word});
    expect_harmless({"bench", "--mode", word});
    expect_harmless({"sim", word});
    expect_harmless({"sim", "--replay", word});
    expect_harmless({"release", word});
    expect_harmless({"ls", "--on", word});
    expect_harmless({"ls", "--on", "@" + word});
    expect_harmless({"ls", "--on", "redis://" + word});
    expect_harmless({"ls", "--on", "etcd://127.0.0.1:1/" + word});
    expect_harmless({"ls", "--on", "mysql://h/db?recipe=" + word});
  }
  expect_harmless({"torture", "--scenario", kUnprintable.front()});
  expect_harmless({"torture", "--engine", kUnprintable.front()});
}

TEST_F(HostileTextTest, TheNameOfAFileIsData) {
  for (const std::string& name : kUnprintable) {
    std::ofstream(path(name)) << std::string(10'000, 'z');  // Not a database.
    expect_harmless({"ls", "--on", "sqlite://" + path(name)});
  }
}

// Answers everything with the same words, as somebody between us and a server could.
class HostileServer {
 public:
  explicit HostileServer(std::string answer)
      : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<const sockaddr*>(&place), sizeof place);
    listen(listener_, 16);
    socklen_t size = sizeof place;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HostileServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  int port() const { return port_; }

 private:
  void serve() const {
    for (;;) {
      const int peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) return;
      char buffer[4096];
      while (read(peer, buffer, sizeof buffer) > 0) {
        if (send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL) < 0) break;
      }
      close(peer);
    }
  }

  const std::string answer_;
  const int listener_;
  int port_ = 0;
  std::thread thread_;
};

TEST_F(HostileTextTest, TheWordsOfAServerAreData) {
  const std::string words = "\x1b]0;x\x07 \u202e\u009b31m \xff <script>";
  for (const auto& [scheme, answer] :
       std::map<std::string, std::string>{{"redis", "-WRONGPASS " + words + "\r\n"},
                                          {"memcached", "SERVER_ERROR " + words + "\r\n"},
                                          {"postgres", words},
                                          {"mysql", words}}) {
    const HostileServer server(answer);
    const std::string url = scheme + "://u:p@127.0.0.1:" + std::to_string(server.port()) +
                            (scheme == "redis"       ? "/0"
                             : scheme == "memcached" ? ""
                                                     : "/db");
    const std::string login_free = "memcached://127.0.0.1:" + std::to_string(server.port());
    expect_harmless({"ls", "--on", scheme == "memcached" ? login_free : url});
  }
}

TEST_F(HostileTextTest, AServersWordsAreStillToldAsFarAsTheyArePrintable) {
  const HostileServer server("-WRONGPASS \x1b]0;x\x07 the words\r\n");
  const Output output =
      run_bare({"ls", "--on", "redis://:p@127.0.0.1:" + std::to_string(server.port()) + "/0"});
  EXPECT_NE(output.err.find("\\x1B]0;x\\x07 the words"), std::string::npos) << output.err;
}

}  // namespace
}  // namespace holdfast::test
