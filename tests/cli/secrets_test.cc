// Passwords, whatever they look like, show nowhere: not in process titles, messages, JSON or reports.
#include <signal.h>

#include <fstream>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

constexpr const char* kSecret = "s3cr3t";

struct Password {
  std::string in_url;
  std::string meant;
};

// Each has kSecret in it.
const std::vector<Password>& passwords() {
  static const std::vector<Password> all = {
      {"s3cr3t", "s3cr3t"},
      {"s3cr3t'pw", "s3cr3t'pw"},
      {"'s3cr3t", "'s3cr3t"},
      {"s3cr3t\"pw", "s3cr3t\"pw"},
      {"x\"s3cr3t", "x\"s3cr3t"},
      {"<s3cr3t>pw", "<s3cr3t>pw"},
      {"a b s3cr3t", "a b s3cr3t"},
      {"x#s3cr3t", "x#s3cr3t"},
      {"x@s3cr3t", "x@s3cr3t"},
      {"x:s3cr3t", "x:s3cr3t"},
      {"%40%2Fs3cr3t", "@/s3cr3t"},
      {"x;s3cr3t&y=z", "x;s3cr3t&y=z"},
      {"$(s3cr3t)`x`", "$(s3cr3t)`x`"},
      {"x,s3cr3t", "x,s3cr3t"},
      {"x://u:s3cr3t", "x:"},  // refused: the / must be escaped
      {"x/s3cr3t", "x"},
      {"x?s3cr3t", "x"},
      {"%zzs3cr3t", "?"},
  };
  return all;
}

class SecretsTest : public CliTest {
 protected:
  static bool shows(const std::string& text) { return text.find(kSecret) != std::string::npos; }
  static std::string title_of(pid_t pid) {
    return read_all("/proc/" + std::to_string(pid) + "/cmdline");
  }
  // Fails, and does not say why by showing it.
  static void expect_hidden(const Words& words, const ProcessOptions& options = {}) {
    const Output output = run_bare(words, options);
    EXPECT_NE(output.status, 0);
    EXPECT_FALSE(shows(output.out + output.err)) << output.out << output.err;
  }
};

// A real Redis that takes the passwords.
class SecretTitleTest : public SecretsTest {
 protected:
  SecretTitleTest() {
    server_.emplace(start_plain({"redis-server", "--port", "0", "--unixsocket", path("socket"),
                                 "--save", "", "--dir", directory_}));
    EXPECT_TRUE(eventually([&] { return cli({"PING"}).out == "PONG\n"; })) << server_->err();
  }
  Output cli(Words words) const {
    words.insert(words.begin(), {"redis-cli", "-s", path("socket")});
    return start_plain(words).wait();
  }
  std::string url_with(const std::string& password) const {
    return "redis://app:" + password + "@localhost/0?socket=" + path("socket");
  }

  std::optional<Process> server_;
};

TEST_F(SecretTitleTest, RunnerAndGuardHaveNoPasswordInTheirTitles) {
  for (const auto& [in_url, meant] : passwords()) {
    if (meant.find(kSecret) == std::string::npos) continue;
    SCOPED_TRACE(in_url);
    ASSERT_EQ(cli({"ACL", "SETUSER", "app", "reset", "on", ">" + meant, "~*", "&*", "+@all"}).out,
              "OK\n");
    const std::string url = url_with(in_url);
    for (const Words& on : {Words{"--on", url}, Words{"--on=" + url}}) {
      Words words{HOLDFAST_BINARY};
      words.insert(words.end(), on.begin(), on.end());
      words.insert(words.end(), {"run", "x", "--", "sh", "-c", "echo up; exec sleep 60"});
      Process runner = start_plain(words);
      ASSERT_TRUE(eventually([&] { return runner.out() == "up\n"; })) << runner.err();
      const pid_t guard = guard_of(runner.pid());
      ASSERT_GT(guard, 0);
      const std::string title = title_of(runner.pid());
      EXPECT_FALSE(shows(title)) << title;
      EXPECT_NE(title.find("redis://app:***@localhost"), std::string::npos) << title;
      EXPECT_NE(title.find("exec sleep 60"), std::string::npos) << "the rest is still there";
      EXPECT_FALSE(shows(title_of(guard))) << title_of(guard);
      for (const pid_t child : children_of(guard)) EXPECT_FALSE(shows(title_of(child)));
      runner.kill(SIGTERM);
      runner.wait();
      EXPECT_FALSE(shows(runner.err())) << runner.err();
    }
  }
}

TEST_F(SecretTitleTest, AWaitingOrMeasuringProcessHasNoPasswordInItsTitle) {
  ASSERT_EQ(cli({"ACL", "SETUSER", "app", "reset", "on", ">s3cr3t'pw", "~*", "&*", "+@all"}).out,
            "OK\n");
  const std::string url = url_with("s3cr3t'pw");
  const Output handle = run_bare({"--on", url, "acquire", "x", "--ttl", "10m"});
  ASSERT_EQ(handle.status, 0) << handle.err;
  for (const Words& words : {Words{"acquire", "x"}, Words{"bench", "--seconds", "60"}}) {
    Words all{HOLDFAST_BINARY, "--on", url};
    all.insert(all.end(), words.begin(), words.end());
    Process process = start_plain(all);
    ASSERT_TRUE(eventually([&] {
      return title_of(process.pid()).find("redis://app:***@localhost") != std::string::npos;
    })) << title_of(process.pid());
    EXPECT_FALSE(shows(title_of(process.pid())));
    for (const pid_t child : children_of(process.pid())) EXPECT_FALSE(shows(title_of(child)));
  }
}

// A handle is the key to a lock.
TEST_F(SecretTitleTest, HandlesDoNotStayInTitles) {
  const std::string url = "redis://localhost/0?socket=" + path("socket");
  const Output acquired = run_bare({"--on", url, "acquire", "x", "y", "--ttl", "10m"});
  ASSERT_EQ(acquired.status, 0) << acquired.err;
  const std::size_t end = acquired.out.find('\n');
  const Words handles = {acquired.out.substr(0, end),
                         acquired.out.substr(end + 1, acquired.out.size() - end - 2)};
  server_->kill(SIGSTOP);  // So that it waits.
  for (const Words& words : {handles, Words{acquired.out}, Words{" " + handles[0]}}) {
    Words all = {HOLDFAST_BINARY, "--on", url, "release"};
    all.insert(all.end(), words.begin(), words.end());
    Process release = start_plain(all);
    EXPECT_TRUE(eventually([&] {
      return title_of(release.pid()).find("hf1.***") != std::string::npos;
    })) << title_of(release.pid());
    for (const std::string& handle : handles) {
      EXPECT_EQ(title_of(release.pid()).find(handle), std::string::npos);
    }
  }
  server_->kill(SIGCONT);
}

// URLs that are refused, for one reason or another, in every way in which they can be given.
TEST_F(SecretsTest, MessagesAndJsonHaveNoPasswords) {
  std::vector<std::string> urls = {
      "redis://h/0#s3cr3t",
      "redis://h#s3cr3t",
      "redis://:s3cr3t",
      "redis://u:s3cr3t",
      "redis:s3cr3t",
      "u:s3cr3t@h",
      "redis:///:s3cr3t@h",
      "nope://h/?password=s3cr3t",
      "redis://h/?passwd=s3cr3t",
      "redis://h/?s3cr3t",
      "redis://s3cr3t@h/0",
      "redis://u:12/s3cr3t@h",
      "etcd://u:12/s3cr3t@h",
      "redis://u:1?s3cr3t@h",
      "redis://u:1?s3cr3t=@h",
      "mysql://u:p@s3cr3t:x@h/db",
      "zookeeper://s3cr3t@h/",
      "sqlite://u:s3cr3t@h/x.db",
      "//u:s3cr3t@h",
      "a b://u:s3cr3t@h",
      "memcached://u:s3cr3t@h",
  };
  for (const Password& each : passwords()) {
    urls.push_back("nope://u:" + each.in_url + "@h:1/x");
    urls.push_back("redis://u:" + each.in_url + "@h1,h2/x");
    urls.push_back("postgres://u:" + each.in_url + "@h/db?recipe=nope");
  }
  for (const std::string& url : urls) {
    SCOPED_TRACE(url);
    std::ofstream(path("url")) << url << "\n";
    expect_hidden({"--on", url, "ls"});
    expect_hidden({"--on=" + url, "--json", "show", "x"});
    expect_hidden({"run", "x", "--no-wait", "--on", url, "--", "true"});
    expect_hidden({"--json", "run", "x", "--no-wait", "--on=" + url, "--", "true"});
    expect_hidden({"--on", "@" + path("url"), "acquire", "x", "--wait", "100ms"});
    expect_hidden({"--json", "bench", "--seconds", "1"}, {.environment = {{"HOLDFAST_URL", url}}});
    const Output schema = run_bare({"--on", url, "schema"});  // Some need none.
    EXPECT_FALSE(shows(schema.out + schema.err)) << schema.out << schema.err;
  }
}

TEST_F(SecretsTest, TortureHasNoPasswords) {
  for (const std::string url : {"redis://h/0#s3cr3t", "redis://u:s3cr3t", "u:s3cr3t@h",
                                "nope://u:s3cr3t'pw@h:1/x", "redis://u:p@h/?passwd=s3cr3t"}) {
    SCOPED_TRACE(url);
    expect_hidden({"--on", url, "torture", "--scenario", "1"});
    expect_hidden({"torture", "--on=" + url, "--json", "--scenario", "1"});
  }
}

// Words that were meant for --on, and came elsewhere. Messages cut long words, and half of a password
// is one, too.
TEST_F(SecretsTest, MisplacedUrlsAreNotEchoed) {
  std::vector<std::string> urls;
  for (const Password& each : passwords()) urls.push_back("redis://u:" + each.in_url + "@h/0");
  for (const std::size_t size : {20U, 60U, 200U, 5000U}) {
    urls.push_back("redis://u:s3cr3t@" + std::string(size, 'h'));
    urls.push_back("redis://" + std::string(size, 'u') + ":s3cr3t@h");
    urls.push_back("redis://u:s3cr3t" + std::string(size, '\x1b') + "@h");
  }
  for (const std::string& url : urls) {
    SCOPED_TRACE(url);
    expect_hidden({url});
    expect_hidden({"ls", "x", url});
    expect_hidden({"sim", url});
    expect_hidden({"--onn", url, "ls"});
    expect_hidden({"--json", "--onn=" + url, "ls"});
    expect_hidden({"run", "x", url});
    expect_hidden({"--json", "run", "x", "--ttl", url, "--", "true"});
    expect_hidden({"run", "x", "--ttl=" + url, "--", "true"});
    expect_hidden({"run", "x", "--on", "sqlite://" + path("x.db"), "--", url});
    expect_hidden({"bench", "--mode", url});
  }
  expect_hidden({"torture", "--scenario", urls.back()});
  expect_hidden({"torture", "--engine", urls.front(), urls.front()});
}

// An engine that cannot be reached says where it is, and not with which password.
TEST_F(SecretsTest, AnUnreachableServerIsNamedWithoutItsPassword) {
  for (const char* scheme : {"redis", "mysql", "postgres", "etcd"}) {
    const std::string path = std::string(scheme) == "etcd" ? "" : "/0";
    for (const std::string format : {"", "--json"}) {
      Words words{"--on", std::string(scheme) + "://u:s3cr3t'<#>pw@127.0.0.1:1" + path, "ls"};
      if (!format.empty()) words.push_back(format);
      const Output output = run_bare(words);
      EXPECT_NE(output.status, 0);
      EXPECT_FALSE(shows(output.out + output.err)) << output.out << output.err;
      EXPECT_NE((output.out + output.err).find("127.0.0.1:1"), std::string::npos)
          << output.out << output.err;
    }
  }
}

// Text that a message tells the user to write is no secret.
TEST_F(SecretsTest, APlaceholderIsShown) {
  const Output output = run_bare({"--on", "postgres://h/db?recipe=nope", "ls"});
  EXPECT_NE(output.err.find("PASSWORD"), std::string::npos) << output.err;
}

}  // namespace
}  // namespace holdfast::test
