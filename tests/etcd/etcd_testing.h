// Shared by the tests of etcd.
#pragma once

#include "etcd_server.h"
#include "lock_testing.h"
#include "waiting.h"

namespace holdfast::etcd_tests {

using namespace lock_testing;  // NOLINT(google-build-using-namespace): test code
using test::EtcdServer;

}  // namespace holdfast::etcd_tests
