// Spans of real commands and of a real daemon, as a collector gets them; and collectors that are down, silent or broken.
#include <signal.h>
#include <sys/stat.h>

#include <unistd.h>

#include <fstream>
#include <map>

#include "cli_fixture.h"
#include "span_collector.h"

namespace holdfast::test {
namespace {

using Json = nlohmann::json;

std::map<std::string, Json> by_name(const std::vector<Json>& spans) {
  std::map<std::string, Json> all;
  for (const Json& span : spans) all[span.at("name")] = span;
  return all;
}

std::map<std::string, std::string> attributes_of(const Json& span) {
  std::map<std::string, std::string> all;
  for (const Json& each : span.at("attributes"))
    all[each.at("key")] = each.at("value").begin()->get<std::string>();
  return all;
}

class CommandTraceTest : public CliTest {};

TEST_F(CommandTraceTest, ARunSendsWaitAndHoldBelowItselfAndPassesItselfOn) {
  const SpanCollector collector;
  const Output output =
      run({"run", "nightly", "--otlp", collector.url(), "--", "sh", "-c", "echo $TRACEPARENT"},
          {.environment = {
               {"TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}});
  ASSERT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.err, "");
  ASSERT_EQ(collector.requests().size(), 1U);
  EXPECT_TRUE(collector.requests()[0].starts_with("POST /v1/traces HTTP/1.1\r\n"));
  auto spans = by_name(collector.spans());
  ASSERT_EQ(spans.size(), 3U);
  const Json& root = spans["holdfast run"];
  EXPECT_EQ(root.at("parentSpanId"), "b7ad6b7169203331");
  EXPECT_EQ(spans["holdfast wait"].at("parentSpanId"), root.at("spanId"));
  EXPECT_EQ(spans["holdfast hold"].at("parentSpanId"), spans["holdfast wait"].at("spanId"));
  EXPECT_EQ(attributes_of(spans["holdfast hold"])["holdfast.outcome"], "released");
  EXPECT_EQ(attributes_of(spans["holdfast hold"])["holdfast.name"], "nightly");
  EXPECT_EQ(attributes_of(spans["holdfast hold"])["holdfast.engine"], "sqlite");
  EXPECT_EQ(output.out, "00-0af7651916cd43dd8448eb211c80319c-" +
                            root.at("spanId").get<std::string>() + "-01\n");
}

TEST_F(CommandTraceTest, TheVariablesOfOpenTelemetryAreHeeded) {
  const SpanCollector collector;
  const auto spans_with = [&](std::map<std::string, std::string> environment) {
    const std::size_t before = collector.spans().size();
    EXPECT_EQ(run({"run", "x", "--", "false"}, {.environment = std::move(environment)}).status, 1);
    return collector.spans().size() - before;
  };
  EXPECT_EQ(spans_with({{"OTEL_EXPORTER_OTLP_ENDPOINT", collector.url() + "/"}}), 3U);
  EXPECT_EQ(by_name(collector.spans())["holdfast run"].at("status").at("message"), "status 1");
  EXPECT_EQ(spans_with({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.url() + "/own"}}), 3U);
  EXPECT_TRUE(collector.requests().back().starts_with("POST /own HTTP/1.1\r\n"));
  const std::string url = collector.url();
  EXPECT_EQ(spans_with({{"OTEL_EXPORTER_OTLP_ENDPOINT", url}, {"OTEL_SDK_DISABLED", "true"}}), 0U);
  EXPECT_EQ(
      spans_with({{"OTEL_EXPORTER_OTLP_ENDPOINT", url}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}),
      0U);
  EXPECT_EQ(spans_with({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://elsewhere"}}), 0U);
}

// With a status of its own, so that one that sending changed would be seen.
TEST_F(CommandTraceTest, ACollectorThatIsDownSilentOrBrokenChangesNoStatusAndHoldsNoLock) {
  const SpanCollector broken(500);
  const SpanCollector silent(0);
  for (const std::string& url : {broken.url(), silent.url(), std::string("http://127.0.0.1:1")}) {
    const Output output = run({"run", "x", "--otlp", url, "--", "sh", "-c", "exit 7"},
                              {.environment = {{"HOLDFAST_LOG", "warn"}}});
    EXPECT_EQ(output.status, 7) << url;
    EXPECT_NE(output.err.find("spans_dropped server=" + url), std::string::npos) << output.err;
  }
  // The lock is free while the collector is waited for.
  const SpanCollector slow(0);
  Process first = start({"run", "y", "--otlp", slow.url(), "--", "true"});
  ASSERT_TRUE(eventually([&] { return !slow.requests().empty(); }));
  EXPECT_EQ(run({"run", "y", "-n", "--", "true"}).status, 0);
  EXPECT_EQ(first.wait().status, 0);
}

TEST_F(CommandTraceTest, AWrongCollectorIsAUsageError) {
  for (const std::string url : {"https://127.0.0.1", "127.0.0.1:4318", "http://u:secret@h",
                                "http://h:99999", "http://h\r\n"}) {
    const Output output = run({"run", "x", "--otlp", url, "--", "touch", path("ran")});
    EXPECT_EQ(output.status, 64) << url;
    EXPECT_EQ(output.err.find("secret"), std::string::npos);
  }
  EXPECT_EQ(access(path("ran").c_str(), F_OK), -1);
}

// ---- The daemon --------------------------------------------------------------------------------

class DaemonTraceTest : public CliTest {
 protected:
  // The port that the daemon says it listens on.
  static int port_of(const Process& daemon) {
    const std::string begin = "http://127.0.0.1:";
    EXPECT_TRUE(eventually([&] {
      return daemon.out().find(begin) != std::string::npos && daemon.out().ends_with("\n");
    })) << daemon.err();
    return std::stoi(daemon.out().substr(daemon.out().find(begin) + begin.size()));
  }
  static std::string post_json(int port, const std::string& path, const std::string& body) {
    return talk_http(
        port, "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                  "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  static Json body_of(const std::string& answer) {
    return Json::parse(answer.substr(answer.find("\r\n\r\n") + 4), nullptr, false);
  }
  static void take_and_give_back(int port) {
    const Json taken = body_of(post_json(port, "/v1/locks/nightly", R"({"ttl_ms":60000})"));
    ASSERT_TRUE(taken.contains("lease")) << taken;
    const Json lease = {{"lease", taken.at("lease")}};
    EXPECT_TRUE(post_json(port, "/v1/release", lease.dump()).starts_with("HTTP/1.1 2"));
  }
};

TEST_F(DaemonTraceTest, SpansOfItsLocksAreSent) {
  const SpanCollector collector;
  Process daemon = start({"serve", "--listen", "127.0.0.1:0", "--otlp", collector.url()});
  take_and_give_back(port_of(daemon));
  // While it runs, not only in the end.
  ASSERT_TRUE(eventually([&] { return collector.spans().size() >= 2; }));
  auto spans = by_name(collector.spans());
  EXPECT_EQ(spans["holdfast hold"].at("parentSpanId"), spans["holdfast wait"].at("spanId"));
  EXPECT_FALSE(spans["holdfast wait"].contains("parentSpanId"));
  EXPECT_EQ(attributes_of(spans["holdfast hold"])["holdfast.engine"], "sqlite");
  EXPECT_EQ(attributes_of(spans["holdfast hold"])["holdfast.outcome"], "released");
  const std::string request = collector.requests()[0];
  EXPECT_NE(request.find(R"("stringValue":"holdfast-serve")"), std::string::npos);
  daemon.kill(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
}

TEST_F(DaemonTraceTest, WhatIsLeftIsSentInTheEnd) {
  const SpanCollector collector;
  Process daemon = start({"serve", "--listen", "127.0.0.1:0", "--otlp", collector.url()});
  take_and_give_back(port_of(daemon));
  daemon.kill(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
  EXPECT_EQ(collector.spans().size(), 2U);
}

TEST_F(DaemonTraceTest, ACollectorThatIsDownSilentOrBrokenHarmsNothing) {
  const SpanCollector broken(500);
  const SpanCollector silent(0);
  for (const std::string& url : {broken.url(), silent.url(), std::string("http://127.0.0.1:1")}) {
    Process daemon = start({"serve", "--listen", "127.0.0.1:0", "--otlp", url});
    const int port = port_of(daemon);
    for (int i = 0; i < 5; ++i) take_and_give_back(port);
    // Told without HOLDFAST_LOG: somebody wants these spans.
    EXPECT_TRUE(eventually([&] {
      return daemon.err().find("spans_dropped server=" + url) != std::string::npos;
    })) << url;
    take_and_give_back(port);
    daemon.kill(SIGTERM);
    EXPECT_EQ(daemon.wait().status, 0);
  }
}

TEST_F(DaemonTraceTest, RequestsAreLoggedWithoutLeasesAndTokens) {
  const std::string token = "0123456789abcdef0123456789abcdef";
  {
    std::ofstream(path("token")) << token << '\n';
    ASSERT_EQ(chmod(path("token").c_str(), 0600), 0);
  }
  Process daemon = start({"-v", "serve", "--listen", "127.0.0.1:0", "--token-file", path("token")});
  const int port = port_of(daemon);
  const Json refused =
      body_of(post_json(port, "/v1/locks/nightly?secret=1", R"({"ttl_ms":60000})"));
  const std::string head =
      "POST /v1/locks/nightly HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
      "\r\nAuthorization: Bearer " + token +
      "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 16\r\n\r\n";
  const Json taken = body_of(talk_http(port, head + R"({"ttl_ms":60000})"));
  ASSERT_TRUE(taken.contains("lease")) << taken << refused;
  EXPECT_TRUE(eventually([&] {
    return daemon.err().find("debug request method=POST route=/v1/locks/* status=401") !=
               std::string::npos &&
           daemon.err().find("debug request method=POST route=/v1/locks/* status=200") !=
               std::string::npos;
  })) << daemon.err();
  EXPECT_NE(daemon.err().find("info granted engine=sqlite name=nightly"), std::string::npos);
  const std::string log = daemon.err();
  for (const std::string& hidden :
       {token, taken.at("lease").get<std::string>(), std::string("secret=")}) {
    EXPECT_EQ(log.find(hidden), std::string::npos) << log;
  }
  daemon.kill(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
}

}  // namespace
}  // namespace holdfast::test
