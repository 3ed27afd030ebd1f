// A fault of a URL is said when the client is opened, by the name of what is wrong.
#include "bad_urls.h"
#include "redis_testing.h"

namespace holdfast::redis_tests {
namespace {

class RedisUrl : public testing::TestWithParam<Wrong> {};

TEST_P(RedisUrl, WhatIsWrongIsNamed) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    , RedisUrl,
    testing::Values(
        Wrong{"redis:127.0.0.1", "must be followed by //"},
        Wrong{"redis://user@127.0.0.1", "a user without a password"},
        Wrong{"redis://127.0.0.1:0", "the port is not a number"},
        Wrong{"redis://127.0.0.1:65536", "the port is not a number"},
        Wrong{"redis://127.0.0.1:x", "the port is not a number"},
        Wrong{"redis://[::1", "the bracket is not closed"},
        Wrong{"redis://::1:6379", "in brackets"}, Wrong{"redis://:6379", "the host is missing"},
        Wrong{"redis://a,b", "several servers"},
        Wrong{"redis+cluster://a,,b", "the host is missing"},
        Wrong{"redis://127.0.0.1/x", "the database 'x' is not a number"},
        Wrong{"redis://127.0.0.1/-1", "the database '-1' is not a number"},
        Wrong{"redis+cluster://127.0.0.1/1", "no database but 0"},
        Wrong{"redis+sentinel://127.0.0.1", "the name of the master is missing"},
        Wrong{"redis+sentinel://127.0.0.1/m/x", "the database 'x' is not a number"},
        Wrong{"redis://127.0.0.1?prefix=", "the option 'prefix' is empty"},
        Wrong{"redis://127.0.0.1?nonsense=1", "unknown option 'nonsense' (there is socket"},
        Wrong{"redis+cluster://127.0.0.1?socket=/s", "socket is for a single server only"},
        Wrong{"rediss://127.0.0.1?verify=maybe", "verify is yes or no, not 'maybe'"},
        Wrong{"redis://127.0.0.1?verify=no", "are for TLS: write rediss"},
        Wrong{"redis://127.0.0.1?ca=/file", "are for TLS: write rediss"},
        Wrong{"redis://127.0.0.1?wait_replicas=0", "wait_replicas is a number from 1 to 100"},
        Wrong{"redis://127.0.0.1?wait_replicas=many", "not 'many'"},
        Wrong{"redis://127.0.0.1?connect_timeout_ms=0", "connect_timeout_ms is a number"},
        Wrong{"redis://127.0.0.1?command_timeout_ms=1s", "command_timeout_ms is a number"}),
    number_of);

}  // namespace
}  // namespace holdfast::redis_tests
