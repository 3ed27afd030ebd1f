// EtcdctlWorker: `etcdctl lock NAME -- COMMAND` as a worker of the benchmark (worker.h), the way people
// use it in scripts: a process for each turn with the lock.
#pragma once

#include <string>

namespace holdfast::bench {

// Obeys the lines on stdin until they end. "worker etcd moments HOLD_US" of this program
// is print_moments().
// Returns the exit status.
int be_etcdctl_worker(const std::string& url);

// The command under the lock: prints when it began and when it ended.
int print_moments(int hold_us);

}  // namespace holdfast::bench
