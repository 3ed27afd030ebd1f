#include "base/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/endpoint.h"

namespace holdfast::internal {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(UrlTest, AllPartsAreFound) {
  const Url url =
      Url::parse("Redis+TLS://us%65r:p%40ss@h1:1,h2:2/a%20b/c?sync=full&k=v%26w").value();
  EXPECT_EQ(url.scheme, "redis+tls");
  EXPECT_EQ(url.user, "user");
  EXPECT_EQ(url.password, "p@ss");
  EXPECT_EQ(url.hosts, "h1:1,h2:2");
  EXPECT_EQ(url.path, "/a b/c");
  EXPECT_TRUE(url.has_authority);
  EXPECT_EQ(url.query.at("sync"), "full");
  EXPECT_EQ(url.query.at("k"), "v&w");
}

TEST(UrlTest, APathWithoutAuthorityIsTakenAsItIs) {
  const Url url = Url::parse("sqlite:some/file.db").value();
  EXPECT_FALSE(url.has_authority);
  EXPECT_EQ(url.path, "some/file.db");
  EXPECT_EQ(Url::parse("sqlite:///tmp/x@y:z.db").value().path, "/tmp/x@y:z.db");
}

TEST(UrlTest, WhatDoesNotParseIsInvalid) {
  for (const char* bad :
       {"", ":", "noscheme", ":x", "a b:x", "s://u:%zz@h/", "s://h/%1", "s://h/%", "s://h/?=v",
        "s://h/?a=%g0", "s:%", "s://h/?a", "s://h/a@b", "s://h#x", "s://h/?a=b@c", "s:///x@y"}) {
    const Result<Url> url = Url::parse(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.code(), Code::invalid_argument) << bad;
  }
}

// Whatever a password looks like, nothing of it shows: not in redacted(), not in a parser's message,
// and not in those pieces of a URL that engines show.
TEST(UrlTest, OddPasswordsAreRedacted) {
  for (const std::string password :
       {"s3cr3t",       "s3cr3t@home",  "@s3cr3t",    "s3cr3t:more", ":s3cr3t",
        "s3cr3t/slash", "/s3cr3t",      "12/s3cr3t",  "1?s3cr3t=2",  "s3cr3t?query",
        "?s3cr3t",      "s3cr3t#hash",  "#s3cr3t",    "s3cr3t%40",   "%zzs3cr3t",
        "s3cr3t&x=y",   "s3cr3t@a/b@c", "s3cr3t//x",  "s3cr3t x=y",  "'s3cr3t",
        "\"s3cr3t\"",   "<s3cr3t>",     " s3cr3t ",   "s3cr3t\n",    "\xff\x1bs3cr3t",
        "a@b:s3cr3t",   "a@b/s3cr3t",   "a@b#s3cr3t", "a@b?s3cr3t",  "a@1/s3cr3t@2"}) {
    for (const std::string tail : {"host/path", "host:1,host:2/path?prefix=b", "host", "host/p@th",
                                   "host#x", "host/?password=s3cr3t", "[::1]:1/", "", ":1"}) {
      for (const std::string user : {"user", "", "us%65r"}) {
        const std::string url = "redis://" + user + ":" + password + "@" + tail;
        EXPECT_THAT(redacted(url), Not(HasSubstr("s3cr3t"))) << url;
        EXPECT_EQ(redacted(redacted(url)), redacted(url)) << url;
        for (const std::string& given : {url, url + "%", url + "#x"}) {
          const Result<Url> parsed = Url::parse(given);
          const std::string shown = parsed ? parsed->hosts + parsed->path : parsed.message();
          EXPECT_THAT(shown, Not(HasSubstr("s3cr3t"))) << given;
        }
      }
    }
  }
}

TEST(UrlTest, OnlyThePasswordIsHiddenWhereTheUrlIsSound) {
  EXPECT_EQ(redacted("redis://user:s3cr3t@h1:1,h2/0?prefix=a"),
            "redis://user:***@h1:1,h2/0?prefix=a");
  EXPECT_EQ(redacted("redis://:s'\"<> #3cr3t@h"), "redis://:***@h");
  EXPECT_EQ(redacted("mysql://u:p@h/db?tls=yes&ca=/etc/ca.pem"),
            "mysql://u:***@h/db?tls=yes&ca=/etc/ca.pem");
}

// redis://PASSWORD@HOST is a common mistake.
TEST(UrlTest, AUserAloneIsHidden) {
  EXPECT_EQ(redacted("redis://s3cr3t@host"), "redis://***@host");
  EXPECT_EQ(redacted("redis://s3cr3t:@host"), "redis://***@host");
}

TEST(UrlTest, ValuesOfOptionsThatNoEngineHasAreHidden) {
  for (const std::string key : {"password", "pass", "secret", "PASSWORD", "auth_token", "pwd", "k",
                                "sentinel_password", "%70assword", "passwort"}) {
    EXPECT_EQ(redacted("redis://h/?prefix=b&" + key + "=s3cr3t&tls=no"),
              "redis://h/?prefix=b&" + key + "=***&tls=no");
  }
  EXPECT_EQ(redacted("redis://h/?s3cr3t"), "redis://h/?***");
  EXPECT_THAT(Url::parse("redis://h/?s3cr3t").message(), Not(HasSubstr("s3cr3t")));
}

TEST(UrlTest, WhatDoesNotLookLikeAUrlIsRedactedToo) {
  for (const std::string odd :
       {"user:s3cr3t@host", "//user:s3cr3t@host/", "redis:user:s3cr3t@host", "redis:s3cr3t",
        "redis:/user:s3cr3t@host", "redis:///:s3cr3t@host", "redis://user:s3cr3t",
        "redis://:s3cr3t", "redis://:1s3cr3t", "s3cr3t@host", "my user:s3cr3t", ":s3cr3t",
        "redis://h#s3cr3t", "redis://h/0#s3cr3t", "redis://h/?prefix=a#s3cr3t",
        "redis://h:1s3cr3t"}) {
    EXPECT_THAT(redacted(odd), Not(HasSubstr("s3cr3t"))) << odd;
    const Result<Url> url = Url::parse(odd);
    std::string shown = url ? "" : url.message();
    if (url && url->has_authority) {
      const Result<std::vector<Endpoint>> servers = parse_endpoints(url->hosts, 1);
      shown += url->path + (servers ? url->hosts : servers.message());
    }
    EXPECT_THAT(shown, Not(HasSubstr("s3cr3t"))) << odd;
  }
}

TEST(UrlTest, AUrlWithoutAPasswordStaysReadable) {
  EXPECT_EQ(redacted("sqlite:///var/lib/app/locks.db?sync=full"),
            "sqlite:///var/lib/app/locks.db?sync=full");
  EXPECT_EQ(redacted("redis://host:6379/0"), "redis://host:6379/0");
  EXPECT_EQ(redacted("redis://[::1]:6379,h2/0"), "redis://[::1]:6379,h2/0");
  EXPECT_EQ(redacted("sqlite:some/file#1.db"), "sqlite:some/file#1.db");
  EXPECT_EQ(redacted("sqlite"), "sqlite");
  EXPECT_EQ(redacted("sqlite:///home/me@work/x.db"), "sqlite:///home/me@work/x.db");
}

}  // namespace
}  // namespace holdfast::internal
