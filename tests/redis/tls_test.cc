// TLS: whom we trust, who trusts us, and what is said when one side speaks it and the other not.
#include "certificates.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

using test::Certificates;

class RedisTls : public testing::Test {
 protected:
  static std::string tls(const RedisServer& server, const std::string& options,
                         const std::string& host = "127.0.0.1") {
    return "rediss://" + host + ":" + std::to_string(server.port()) + options;
  }
  static std::string ca() { return "?ca=" + Certificates::shared().ca(); }
  static std::string try_at(const std::string& url) {
    Client client = open(url);
    const BootTime begun = BootClock::now();
    std::string said = told(client.mutex("x", kLong).try_acquire());
    EXPECT_LT(since(begun), 2s) << url << ": " << said;
    return said;
  }
};

TEST_F(RedisTls, ATrustedServerIsUsedByItsAddressAndByItsName) {
  RedisServer server({.tls = true});
  EXPECT_EQ(try_at(tls(server, ca())), "granted");
  EXPECT_EQ(try_at(tls(server, ca(), "localhost")), "granted");
}

TEST_F(RedisTls, AServerOfAnUnknownAuthorityIsRefused) {
  RedisServer server({.tls = true});
  for (const std::string& options : {"?ca=" + Certificates::shared().other_ca(), std::string()}) {
    const std::string said = try_at(tls(server, options));
    EXPECT_THAT(said, HasSubstr("misconfigured")) << options;
    EXPECT_THAT(said, HasSubstr("not trusted")) << options;
  }
}

TEST_F(RedisTls, AServerUnderAnotherNameIsRefused) {
  RedisServer server({.tls = true, .arguments = {"--bind", "127.0.0.1 127.0.0.2"}});
  // Each of these is this machine, and none of them is in the certificate.
  for (const char* host : {"127.0.0.2", "localhost.localdomain", "ip6-localhost"}) {
    const std::string said = try_at(tls(server, ca(), host));
    if (said.find("name is not known") != std::string::npos) continue;
    if (said.find("refused") != std::string::npos) continue;  // ::1
    EXPECT_THAT(said, HasSubstr("misconfigured")) << host;
    EXPECT_THAT(said, HasSubstr("not trusted")) << host;
  }
  EXPECT_EQ(try_at(tls(server, "?verify=no", "127.0.0.2")), "granted");
}

TEST_F(RedisTls, WithoutVerificationAnyServerIsUsed) {
  RedisServer server({.tls = true});
  EXPECT_EQ(try_at(tls(server, "?verify=no")), "granted");
}

TEST_F(RedisTls, AServerThatDemandsACertificateGetsOurs) {
  RedisServer server({.tls = true, .arguments = {"--tls-auth-clients", "yes"}});
  const Certificates& files = Certificates::shared();
  EXPECT_EQ(try_at(tls(server, ca() + "&cert=" + files.client_certificate() +
                                   "&key=" + files.client_key())),
            "granted");
  const std::string said = try_at(tls(server, ca()));
  EXPECT_THAT(said, Not(HasSubstr("granted")));
  EXPECT_THAT(said, HasSubstr("certificate")) << "it should say what is missing";
}

TEST_F(RedisTls, PlainSpeechToATlsPortIsSaid) {
  RedisServer server({.tls = true});
  const std::string said = try_at("redis://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_THAT(said, Not(HasSubstr("granted")));
  EXPECT_THAT(said, HasSubstr("TLS")) << "it should say what may be wrong";
}

TEST_F(RedisTls, TlsToAPlainPortIsSaid) {
  RedisServer server;
  // Redis waits for a line's end, which a handshake has not got: only time can tell.
  const std::string said = try_at(tls(server, "?verify=no&connect_timeout_ms=500"));
  EXPECT_THAT(said, Not(HasSubstr("granted")));
  EXPECT_THAT(said, HasSubstr("TLS"));
}

TEST_F(RedisTls, FilesThatCannotBeUsedAreNamedWhenTheClientIsOpened) {
  const Certificates& files = Certificates::shared();
  for (const std::string& options :
       {std::string("?ca=/no/such/file"), std::string("?cert=/no/such/file"),
        "?cert=" + files.client_certificate() + "&key=/no/such/file",
        // A key that is another's.
        "?cert=" + files.client_certificate() + "&key=" + files.server_key()}) {
    const Result<Client> client = Client::open("rediss://127.0.0.1" + options);
    EXPECT_THAT(told(client), HasSubstr("misconfigured")) << options;
    EXPECT_THAT(told(client), HasSubstr("cannot be used")) << options;
  }
}

TEST_F(RedisTls, AConnectionThatIsCutOffInTheMiddleIsMadeAnew) {
  RedisServer server({.tls = true});
  Proxy proxy(server.port());
  Client client = open("rediss://127.0.0.1:" + std::to_string(proxy.port()) + ca());
  for (int round = 0; round < 20; ++round) {
    Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(10s);
    ASSERT_EQ(told(lease), "granted") << round;
    proxy.reset();
    ASSERT_TRUE(lease->release()) << round;
    if (round % 3 == 0) proxy.inject(std::string(100, '\x17'));
  }
}

}  // namespace
}  // namespace holdfast::redis_tests
