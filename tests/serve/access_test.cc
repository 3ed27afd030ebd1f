// Access: tokens, origins, and where the daemon listens at all.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "certificates.h"
#include "daemon_fixture.h"
#include "tls_client.h"

namespace holdfast::test {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

class AccessTest : public DaemonTest {
 protected:
  // Ends at once, with this status, and these words in its message.
  void expect_refusal(Words words, int status, const std::string& why) const {
    words.insert(words.begin(), {HOLDFAST_SERVE_BINARY, "serve", "--on", url()});
    const Output output = start_plain(words).wait(std::chrono::seconds(20));
    EXPECT_EQ(output.status, status) << output.out << output.err;
    EXPECT_NE(output.err.find(why), std::string::npos) << output.err;
  }
  // An expired one, and its key.
  void make_expired(const std::string& certificate, const std::string& key) const {
    const std::string request = path("request");
    const std::string command =
        "(openssl req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout " + key + " -out " +
        request + " && openssl x509 -req -days -1 -in " + request + " -signkey " + key + " -out " +
        certificate + ") >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
};

TEST_F(AccessTest, OnlyTheTokenOpens) {
  const Daemon daemon = serve({"--token-file", file("token", std::string(kToken) + "\n")});
  const auto with = [&](const std::string& authorization) {
    return daemon.ask({.target = "/v1/locks", .headers = {{"Authorization", authorization}}});
  };
  EXPECT_EQ(with("Bearer " + std::string(kToken)).status, 200);
  EXPECT_EQ(with("bearer " + std::string(kToken)).status, 200);
  for (const std::string& wrong :
       {std::string("Bearer"), "Bearer " + std::string(kToken).substr(1),
        "Bearer " + std::string(kToken) + "0", "Bearer x" + std::string(kToken).substr(1),
        "Basic " + std::string(kToken), std::string(kToken)}) {
    const Answer refused = with(wrong);
    EXPECT_EQ(refused.status, 401) << wrong;
    EXPECT_EQ(refused.header("www-authenticate"), "Bearer");
    EXPECT_EQ(refused.body.find(kToken), std::string::npos);
  }
  EXPECT_EQ(daemon.get("/v1/locks").status, 401);
  EXPECT_EQ(daemon.get("/metrics").status, 401);
  EXPECT_EQ(daemon.get("/nothing").status, 401) << "not even what is there";
  EXPECT_EQ(daemon.get("/").status, 200);
  EXPECT_EQ(daemon.get("/healthz").status, 200);
}

TEST_F(AccessTest, ATokenMustBeASecret) {
  expect_refusal({"--token-file", path("nothing")}, 78, "cannot read a token");
  expect_refusal({"--token-file", file("short", "secret\n")}, 78, "too short");
  expect_refusal({"--token-file", file("spaces", "0123456789abcdef 0123456789abcdef\n")}, 78,
                 "characters");
  expect_refusal({"--token-file", file("open", std::string(kToken) + "\n", 0644)}, 78, "chmod");
}

TEST_F(AccessTest, BeyondThisMachineItTakesATokenAndACertificate) {
  const Certificates& made = Certificates::shared();
  const std::string token = file("token", std::string(kToken) + "\n");
  const Words tls = {"--tls-cert", made.server_certificate(), "--tls-key", made.server_key()};
  const auto words = [](Words one, const Words& more) {
    one.insert(one.end(), more.begin(), more.end());
    return one;
  };
  expect_refusal({"--listen", "0.0.0.0:0"}, 64, "--token-file");
  expect_refusal({"--listen", "0.0.0.0:0", "--token-file", token}, 64, "--tls-cert");
  expect_refusal(words({"--listen", "0.0.0.0:0"}, tls), 64, "--token-file");
  expect_refusal({"--listen", "[::]:0"}, 64, "--token-file");
  expect_refusal({"--listen", "127.0.0.1:0", "--tls-cert", made.server_certificate()}, 64,
                 "go together");
  for (const char* nonsense :
       {"127.0.0.1", "example.com:80", "127.0.0.1:99999", "127.0.0.1:x", "unix:", ":7272", ""}) {
    expect_refusal({"--listen", nonsense}, 64, "--listen");
  }
  const Daemon open(
      words(words({"--on", url(), "--listen", "0.0.0.0:0", "--token-file", token}, tls), {}));
  EXPECT_TRUE(open.listening());
}

TEST_F(AccessTest, ACertificateThatHasExpiredIsRefused) {
  make_expired(path("old.crt"), path("old.key"));
  expect_refusal({"--tls-cert", path("old.crt"), "--tls-key", path("old.key")}, 78, "has expired");
  const Certificates& made = Certificates::shared();
  expect_refusal({"--tls-cert", made.server_certificate(), "--tls-key", made.client_key()}, 78,
                 "key");
  expect_refusal({"--tls-cert", path("nothing"), "--tls-key", made.server_key()}, 78,
                 path("nothing"));
}

TEST_F(AccessTest, ABadCertificateDoesNotReplaceAGoodOne) {
  const Certificates& made = Certificates::shared();
  std::filesystem::copy(made.server_certificate(), path("now.crt"));
  std::filesystem::copy(made.server_key(), path("now.key"));
  Daemon daemon = serve({"--tls-cert", path("now.crt"), "--tls-key", path("now.key")});
  const auto health = [&] {
    return TlsClient(daemon.port(), made.ca()).ask({.target = "/healthz"}).status;
  };
  EXPECT_EQ(health(), 200);
  // In clear it is not spoken to.
  EXPECT_EQ(daemon.get("/healthz").status, 0);

  make_expired(path("now.crt"), path("now.key"));
  daemon.process().kill(SIGHUP);
  ASSERT_TRUE(
      eventually([&] { return daemon.process().err().find("has expired") != std::string::npos; }));
  EXPECT_EQ(health(), 200);

  const auto overwrite = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy(made.client_certificate(), path("now.crt"), overwrite);
  std::filesystem::copy(made.client_key(), path("now.key"), overwrite);
  const std::string before = TlsClient(daemon.port(), made.ca()).subject();
  daemon.process().kill(SIGHUP);
  EXPECT_TRUE(eventually([&] { return TlsClient(daemon.port(), made.ca()).subject() != before; }));
}

TEST_F(AccessTest, APortInUseIsNamed) {
  const Daemon daemon = serve();
  expect_refusal({"--listen", "127.0.0.1:" + std::to_string(daemon.port())}, 78, "--listen");
}

TEST_F(AccessTest, AUnixSocketIsItsOwnersAlone) {
  const std::string socket = path("http.sock");
  Daemon daemon = serve({"--listen", "unix:" + socket});
  ASSERT_TRUE(daemon.listening());
  struct stat found{};
  ASSERT_EQ(stat(socket.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  EXPECT_EQ(HttpClient(socket).ask({.target = "/healthz"}).status, 200);
  expect_refusal({"--listen", "unix:" + socket}, 78, "another process listens");
  EXPECT_EQ(HttpClient(socket).ask({.target = "/healthz"}).status, 200);

  daemon.process().kill(SIGKILL);
  daemon.process().wait();
  Daemon next = serve({"--listen", "unix:" + socket});
  EXPECT_EQ(HttpClient(socket).ask({.target = "/healthz"}).status, 200);
  next.process().kill(SIGTERM);
  EXPECT_EQ(next.process().wait().status, 0);
  EXPECT_NE(stat(socket.c_str(), &found), 0);
  expect_refusal({"--listen", "unix:" + file("file", "mine")}, 78, "no socket");
  EXPECT_EQ(read_all(path("file")), "mine");
}

TEST_F(AccessTest, PagesOfOtherSitesAreRefused) {
  const Daemon daemon = serve();
  const std::string own = "127.0.0.1:" + std::to_string(daemon.port());
  const auto post = [&](std::map<std::string, std::string> headers,
                        const std::string& body = "{}") {
    return daemon
        .ask({.method = "POST",
              .target = "/v1/locks/x/hold",
              .body = body,
              .headers = std::move(headers),
              .host = own})
        .status;
  };
  for (const std::string origin :
       {"http://evil.example", "null", "http://127.0.0.1:1", "https://evil.example"}) {
    EXPECT_EQ(post({{"Origin", origin}}), 403) << origin;
    EXPECT_EQ(post({{"Origin", origin}}, ""), 403) << origin;
  }
  EXPECT_EQ(post({{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(post({{"Sec-Fetch-Site", "same-site"}}), 403);
  EXPECT_EQ(post({{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}}), 403);
  const auto get = [&](const std::string& target, std::map<std::string, std::string> headers) {
    return daemon.ask({.target = target, .headers = std::move(headers), .host = own}).status;
  };
  EXPECT_EQ(get("/v1/locks", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}}),
            403);
  EXPECT_EQ(get("/", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}}), 200);
  EXPECT_EQ(get("/v1/locks", {{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://" + own}}),
            200);
  EXPECT_EQ(holders_of(daemon, "x"), 0U);
}

TEST_F(AccessTest, NamesOfOthersAreRefused) {
  const Daemon daemon = serve({"--host", "locks.example"});
  const auto status = [&](const std::string& host) {
    return daemon.ask({.target = "/v1/locks", .host = host}).status;
  };
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "[::1]evil.example",
        "127.0.0.1:80evil.example", "127.0.0.2", "xlocks.example"}) {
    EXPECT_EQ(status(host), 421) << host;
  }
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:80", "localhost:1", "LOCALHOST", "[::1]:7272", "locks.example"}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  // Behind a proxy that speaks TLS.
  EXPECT_EQ(daemon
                .ask({.target = "/v1/locks",
                      .headers = {{"Origin", "https://locks.example"}},
                      .host = "locks.example"})
                .status,
            200);
  EXPECT_EQ(daemon
                .ask({.target = "/v1/locks",
                      .headers = {{"Origin", "https://localhost"}},
                      .host = "localhost"})
                .status,
            403);
}

TEST_F(AccessTest, ADaemonThatOnlyShowsTakesAndBreaksNothing) {
  const Daemon daemon = serve({"--read-only"});
  for (const char* target :
       {"/v1/locks/x", "/v1/locks/x/hold", "/v1/locks/x/break", "/v1/renew", "/v1/release"}) {
    EXPECT_EQ(daemon.post(target, Json::object()).status, 403) << target;
  }
  EXPECT_EQ(daemon.get("/v1/locks").status, 200);
}

}  // namespace
}  // namespace holdfast::test
