#include "base/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (const char* bad : {"", ":", "noscheme", ":x", "a b:x", "s://u:%zz@h/", "s://h/%1", "s://h/%",
                          "s://h/?=v", "s://h/?a=%g0", "s:%"}) {
    const Result<Url> url = Url::parse(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.code(), Code::invalid_argument) << bad;
  }
}

// Whatever a password looks like, nothing of it shows.
TEST(UrlTest, OddPasswordsAreRedacted) {
  for (const std::string password :
       {"s3cr3t", "s3cr3t@home", "@s3cr3t", "s3cr3t:more", ":s3cr3t", "s3cr3t/slash", "/s3cr3t",
        "s3cr3t?query", "s3cr3t#hash", "s3cr3t%40", "s3cr3t&x=y", "s3cr3t@a/b@c", "s3cr3t//x",
        "s3cr3t password=x"}) {
    for (const std::string tail : {"host/path", "host:1,host:2/path?a=b", "host", "host/p@th"}) {
      const std::string url = "redis://user:" + password + "@" + tail;
      EXPECT_THAT(redacted(url), Not(HasSubstr("s3cr3t"))) << url;
      EXPECT_THAT(redacted(url), HasSubstr("user")) << url;
      const Result<Url> parsed = Url::parse(url + "%");
      if (!parsed) {
        EXPECT_THAT(parsed.message(), Not(HasSubstr("s3cr3t"))) << url;
      }
    }
  }
}

TEST(UrlTest, APasswordWithoutAUserIsRedacted) {
  EXPECT_THAT(redacted("redis://:s3cr3t@host"), Not(HasSubstr("s3cr3t")));
}

TEST(UrlTest, PasswordsInTheQueryAreRedacted) {
  for (const std::string key : {"password", "pass", "secret", "token", "PASSWORD", "auth_token"}) {
    EXPECT_THAT(redacted("redis://h/?a=b&" + key + "=s3cr3t&c=d"), Not(HasSubstr("s3cr3t"))) << key;
    EXPECT_THAT(redacted("redis://h/?" + key + "=s3cr3t"), Not(HasSubstr("s3cr3t"))) << key;
  }
  EXPECT_THAT(redacted("redis://h/?a=b&password=x&c=d"), HasSubstr("c=d"));
}

TEST(UrlTest, WhatDoesNotLookLikeAUrlIsRedactedToo) {
  for (const std::string odd : {"user:s3cr3t@host", "//user:s3cr3t@host/", "redis:user:s3cr3t@host",
                                "redis:/user:s3cr3t@host"}) {
    EXPECT_THAT(redacted(odd), Not(HasSubstr("s3cr3t"))) << odd;
  }
}

TEST(UrlTest, AUrlWithoutAPasswordStaysReadable) {
  EXPECT_EQ(redacted("sqlite:///var/lib/app/locks.db?sync=full"),
            "sqlite:///var/lib/app/locks.db?sync=full");
  EXPECT_EQ(redacted("redis://host:6379/0"), "redis://host:6379/0");
  EXPECT_EQ(redacted("redis://user@host:6379/0"), "redis://user@host:6379/0");
  EXPECT_EQ(redacted("sqlite:///home/me@work/x.db"), "sqlite:///home/me@work/x.db");
}

}  // namespace
}  // namespace holdfast::internal
