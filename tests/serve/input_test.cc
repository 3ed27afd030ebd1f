// Bad requests: each has a clear answer, and takes no lock.
#include <gtest/gtest.h>

#include "daemon_fixture.h"

namespace holdfast::test {
namespace {

class InputTest : public DaemonTest {
 protected:
  InputTest() : daemon_(serve()) {}

  // The answer to these very bytes.
  Answer raw(const std::string& bytes) const {
    HttpClient client(daemon_.port());
    EXPECT_TRUE(client.send(bytes));
    return client.answer();
  }
  Answer body(const std::string& text) const {
    return daemon_.ask({.method = "POST", .target = "/v1/locks/x", .body = text});
  }
  void TearDown() override {
    EXPECT_EQ(holders_of(daemon_, "x"), 0U);
    EXPECT_TRUE(const_cast<Daemon&>(daemon_).process().running());
  }

  const Daemon daemon_;
};

void expect_problem(const Answer& answer, int status) {
  EXPECT_EQ(answer.status, status) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  const Json problem = answer.json();
  ASSERT_TRUE(problem.is_object()) << answer.body;
  EXPECT_EQ(problem["status"], status);
  EXPECT_FALSE(problem["detail"].get<std::string>().empty());
}

TEST_F(InputTest, ABodyThatIsNoGoodJsonIsRefused) {
  for (const std::string text :
       {"{", "nonsense", "[]", "3", "\"x\"", "{\"ttl_ms\":1,}", "{\"ttl_ms\":1}{}",
        "{\"label\":\"\xff\"}", "{\"label\":\"\\ud800\"}", "{\"ttl_ms\":1e999}",
        "\xef\xbb\xbf{\"ttl_ms\":}"}) {
    expect_problem(body(text), 400);
  }
  expect_problem(body(std::string(60'000, '[')), 400);
  expect_problem(body(R"({"label":)" + std::string(30'000, '{')), 400);
}

TEST_F(InputTest, FieldsOfOtherNamesAndTypesAreRefused) {
  for (const std::string text :
       {R"({"ttl":1000})", R"({"ttl_ms":"1000"})", R"({"ttl_ms":0})", R"({"ttl_ms":-1})",
        R"({"ttl_ms":1.5})", R"({"ttl_ms":1e3})", R"({"ttl_ms":99999999999999999999})",
        R"({"ttl_ms":9999999999999})", R"({"ttl_ms":true})", R"({"wait_ms":600001})",
        R"({"mode":"rude"})", R"({"mode":1})", R"({"mode":"permit"})", R"({"permits":2})",
        R"({"mode":"permit","permits":0})", R"({"mode":"permit","permits":4294967296})",
        R"({"label":1})", R"({"owner":"with space"})", R"({"owner":{}})"}) {
    expect_problem(body(text), 400);
  }
  expect_problem(body(R"({"label":")" + std::string(257, 'l') + "\"}"), 400);
  expect_problem(body(R"({"ttl_ms":1000,"ttl_ms":60000})"), 400);
  EXPECT_NE(body(R"({"tll_ms":1000})").json()["detail"].get<std::string>().find("tll_ms"),
            std::string::npos);
}

TEST_F(InputTest, ABodyOfAnotherTypeIsRefused) {
  // That is what a form of another site can send.
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                           "application/jsonx"}) {
    expect_problem(daemon_.ask({.method = "POST",
                                .target = "/v1/locks/x",
                                .body = "{}",
                                .headers = {{"Content-Type", type}}}),
                   415);
  }
}

TEST_F(InputTest, LeasesThatAreNoneAreRefused) {
  for (const std::string lease :
       {"x", "", "sqlite:", ":hf1", "sqlite:hf1.exclusive.1.1.1.1.1", "other:hf1.a"}) {
    for (const char* target : {"/v1/renew", "/v1/release"}) {
      expect_problem(daemon_.post(target, {{"lease", lease}}), 400);
    }
  }
  expect_problem(daemon_.post("/v1/release", Json::object()), 400);
}

TEST_F(InputTest, MethodsThatAreNotThereAreNamed) {
  const Answer put = daemon_.ask({.method = "PUT", .target = "/v1/locks/x", .body = "{}"});
  expect_problem(put, 405);
  EXPECT_EQ(put.header("allow"), "GET, HEAD, POST");
  expect_problem(daemon_.ask({.method = "DELETE", .target = "/v1/locks"}), 405);
  expect_problem(daemon_.ask({.method = "BREW", .target = "/healthz"}), 405);
  expect_problem(daemon_.get("/v1/release"), 405);
}

TEST_F(InputTest, PathsThatAreNotThereAreNotFound) {
  for (const char* target :
       {"/nothing", "/v1", "/v1/locks/x/y", "/v1/locks/x/hold/y", "//v1/locks",
        "/page/../../../etc/passwd", "/page/%2e%2e%2fopenapi.json", "/page/"}) {
    expect_problem(daemon_.get(target), 404);
  }
}

TEST_F(InputTest, TargetsThatAreMalformedAreRefused) {
  for (const char* target : {"/v1/locks/%", "/v1/locks/%4", "/v1/locks/%zz", "/v1/locks?prefix=%x",
                             "*", "v1/locks", "ftp://127.0.0.1/v1/locks"}) {
    expect_problem(daemon_.get(target), 400);
  }
  expect_problem(daemon_.post("/v1/locks/" + std::string(16385, 'n'), Json::object()), 400);
  expect_problem(daemon_.get("/v1/locks/?engine=nothing"), 404);
  expect_problem(daemon_.get("/v1/locks?engine=sqlite&engine=nothing"), 400);
}

TEST_F(InputTest, AnAbsoluteTargetIsThatOfItsHost) {
  EXPECT_EQ(daemon_.get("http://127.0.0.1/healthz").status, 200);
  expect_problem(daemon_.get("http://evil.example/healthz"), 421);
  expect_problem(daemon_.get("http://evil.example@127.0.0.1/healthz"), 421);
}

TEST_F(InputTest, TheLongestNameFits) {
  std::string target = "/v1/locks/";
  for (int i = 0; i < 16384; ++i) target += "%00";
  const Answer taken = daemon_.post(target, Json::object());
  ASSERT_EQ(taken.status, 200) << taken.body;
  EXPECT_EQ(daemon_.post("/v1/release", {{"lease", taken.json()["lease"]}}).status, 200);
}

TEST_F(InputTest, WhatTwoReadersWouldReadDifferentlyIsRefused) {
  const std::string post =
      "POST /v1/locks/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  for (const std::string& rest : std::vector<std::string>{
           "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
           "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "Content-Length: 2, 3\r\n\r\n{}",
           "Content-Length: +2\r\n\r\n{}", "Content-Length: -2\r\n\r\n{}",
           "Content-Length: 0x2\r\n\r\n{}", "Content-Length: 99999999999999999999\r\n\r\n{}",
           "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
           "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "Content-Length : 2\r\n\r\n{}",
           "X: a\nContent-Length: 2\r\n\r\n{}", "X\r\n\r\n", ": x\r\n\r\n",
           "X: \x01\r\nContent-Length: 2\r\n\r\n{}"}) {
    const Answer answer = raw(post + rest);
    EXPECT_GE(answer.status, 400) << rest;
    EXPECT_LT(answer.status, 600) << rest;
    EXPECT_EQ(answer.header("connection"), "close") << rest;
  }
}

TEST_F(InputTest, ASecondHostIsRefused) {
  expect_problem(raw("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:1\r\nHost: evil.example\r\n\r\n"),
                 400);
  expect_problem(raw("GET /healthz HTTP/1.1\r\n\r\n"), 400);
}

TEST_F(InputTest, WhatIsNotHttpIsRefused) {
  for (const std::string& bytes : std::vector<std::string>{
           "nonsense\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/2.0\r\n\r\n",
           "\x16\x03\x01\x02\x01\r\n\r\n", "GET / HTTP/1.1\nHost: 127.0.0.1\n\n",
           std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), "\r\n\r\n\r\n\r\n",
           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
    HttpClient client(daemon_.port());
    client.send(bytes);
    client.end_sending();
    const Answer answer = client.answer();
    EXPECT_TRUE(answer.status == 0 || answer.status >= 400) << bytes << answer.status;
    EXPECT_TRUE(client.ended());
  }
}

TEST_F(InputTest, PipelinedRequestsAreAnsweredInOrder) {
  HttpClient client(daemon_.port());
  std::string all;
  for (int i = 0; i < 50; ++i) all += request_text({.target = i % 2 ? "/healthz" : "/nothing"});
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.answer().status, i % 2 ? 200 : 404);
}

TEST_F(InputTest, RequestsComeInAnyPieces) {
  HttpClient client(daemon_.port());
  for (const char each :
       request_text({.method = "POST", .target = "/v1/locks/y", .body = "{\"ttl_ms\":60000}"})) {
    ASSERT_TRUE(client.send(std::string_view(&each, 1)));
  }
  EXPECT_EQ(client.answer().status, 200);
  ASSERT_TRUE(client.send(
      "POST /v1/locks/z HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n"));
  EXPECT_EQ(client.answer().status, 200);
}

TEST_F(InputTest, OldAndCautiousClientsAreServed) {
  HttpClient old(daemon_.port());
  ASSERT_TRUE(old.send("GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"));
  EXPECT_EQ(old.answer().status, 200);
  EXPECT_TRUE(old.ended());

  HttpClient cautious(daemon_.port());
  Ask ask = acquiring("y");
  ask.headers["Expect"] = "100-continue";
  std::string text = request_text(ask);
  const std::size_t body_at = text.find("\r\n\r\n") + 4;
  ASSERT_TRUE(cautious.send(text.substr(0, body_at)));
  ASSERT_TRUE(cautious.read_to("HTTP/1.1 100 Continue\r\n\r\n"));
  ASSERT_TRUE(cautious.send(text.substr(body_at)));
  EXPECT_EQ(cautious.answer().status, 200);

  ask.headers["Expect"] = "the-impossible";
  expect_problem(HttpClient(daemon_.port()).ask(ask), 417);

  HttpClient head(daemon_.port());
  EXPECT_EQ(head.ask({.method = "HEAD", .target = "/"}).status, 200);
  EXPECT_EQ(head.ask({.method = "HEAD", .target = "/v1/feed"}).status, 200) << "no body in between";
  EXPECT_EQ(head.ask({.target = "/healthz"}).body, "ok\n");
}

}  // namespace
}  // namespace holdfast::test
