#!/usr/bin/env bash
# Shows that scripts/check-layers refuses what it must refuse and passes what is right.
# Usage: check_layers_test.sh PATH_OF_CHECK_LAYERS
set -euo pipefail

check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# expect WORDS FILE LINE…: the file alone makes check-layers print WORDS ("" for: pass).
expect() {
  local words=$1 file=$2 output status=0
  shift 2
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/$(dirname "$file")"
  printf '%s\n' "$@" >"$tree/$file"
  output=$("$check" "$tree" 2>/dev/null) || status=$?
  if [[ -z $words && $status == 0 ]]; then return; fi
  if [[ -n $words && $status == 1 && $output == *"$file:$#: "*"$words"* ]]; then return; fi
  printf 'FAILED: %s with %s\n  expected: %s\n  got (%d): %s\n' \
    "$file" "${!#}" "${words:-nothing}" "$status" "$output"
  failures=$((failures + 1))
}

# Includes. The offending line is always the last one.
expect '' src/base/x.cc '#include "base/y.h"' '#include "holdfast/ids.h"' '#include <sqlite3.h>'
expect 'base must not include wire' src/base/x.cc '#include "base/x.h"' '#include "wire/y.h"'
expect 'base must not include lease' src/base/x.h '  #  include  "lease/y.h"'
expect 'wire must not include lease' src/wire/x.cc '#include "lease/y.h"'
expect 'lease must not include wire' src/lease/x.cc '#include "wire/y.h"'
expect 'lease must not include recipes' src/lease/x.cc '#include "recipes/y.h"'
expect '' src/recipes/x.cc '#include "lease/y.h"' '#include "base/y.h"'
expect 'recipes must not include engines/redis' src/recipes/x.cc '#include "engines/redis/y.h"'
expect '' src/engines/redis/x.cc '#include "engines/table/y.h"' '#include "wire/y.h"'
expect 'engines/redis must not include engines/sqlite' src/engines/redis/x.cc \
  '#include "engines/sqlite/y.h"'
expect 'engines/redis must not include lease' src/engines/redis/x.cc '#include "lease/y.h"'
expect '' src/engines/redlock/x.cc '#include "engines/redis/y.h"'
expect '' src/engines/registry.cc '#include "engines/redis/y.h"'
expect 'engines must not include client' src/engines/registry.cc '#include "client/y.h"'
expect '' src/fence/x.cc '#include "wire/y.h"'
expect 'fence must not include lease' src/fence/x.cc '#include "lease/y.h"'
expect 'fence must not include engines/etcd' src/fence/x.cc '#include "engines/redis/y.h"' '#include "engines/etcd/y.h"'
expect 'versioned must not include engines/mysql' src/versioned/x.cc '#include "engines/registry.h"' \
  '#include "engines/mysql/y.h"'
expect 'sql must not include engines/table' src/sql/mysql/x.cc '#include "wire/y.h"' '#include "engines/kit/y.h"' \
  '#include "engines/table/y.h"'
expect 'metrics must not include lease' src/metrics/x.cc '#include "holdfast/observer.h"' '#include "base/y.h"' \
  '#include "lease/y.h"'
expect 'survey must not include base' src/survey/x.cc '#include "holdfast/deadlock.h"' '#include "survey/y.h"' \
  '#include "base/y.h"'
expect 'cli must not include metrics' cli/run/x.cc '#include "holdfast/metrics.h"' '#include "metrics/y.h"'
expect '' src/client/x.cc '#include "engines/redis/y.h"' '#include "fence/y.h"'
expect '' src/c/x.cc '#include "c/y.h"' '#include "holdfast/client.h"'
expect 'c must not include lease' src/c/x.cc '#include "lease/y.h"'
expect 'client must not include cli' src/client/x.cc '#include "cli/y.h"'
expect 'include must not include base' include/holdfast/x.h '#include "base/y.h"'
expect 'must not include <sqlite3.h>' include/holdfast/x.h '#include <sqlite3.h>'
expect 'must not include <asio/post.hpp>' include/holdfast/x.h '#include <asio/post.hpp>'
expect 'must not include <boost/asio.hpp>' include/holdfast/asio.h '#include <boost/asio.hpp>'
expect '' include/holdfast/asio.h '#include <asio/post.hpp>' '#include "holdfast/asio_bridge.h"'
expect '' include/holdfast/boost_asio.h '#include <boost/asio/post.hpp>'
expect '' include/holdfast/fmt.h '#include <fmt/format.h>'
expect 'is for users of another library' include/holdfast/x.h '#include "holdfast/asio.h"'
expect 'is for users of another library' include/holdfast/x.h '#include "holdfast/fmt.h"'
expect '' cli/x.cc '#include "holdfast/holdfast.h"' '#include "y.h"' '#include "cli/y.h"'
expect '' cli/x.cc '#include "run/y.h"' '#include "lab/y.h"'
expect 'cli must not include engines/sqlite' cli/run/x.cc '#include "engines/sqlite/y.h"'
expect 'cli must not include base' cli/x.cc '#include "base/y.h"'
expect '' cli/x.cc '#include "lab/sim/y.h"'
expect '' lab/x.cc '#include "base/y.h"' '#include "lab/y.h"'
expect '' lab/servers/x.cc '#include "y.h"'
expect 'lab/servers must not include base' lab/servers/x.cc '#include "base/y.h"'
expect 'lab/servers must not include include' lab/servers/x.cc '#include "holdfast/ids.h"'
expect 'lab/servers must not include lab' lab/servers/x.cc '#include "lab/y.h"'
expect 'from the source root' src/base/x.cc '#include "../wire/y.h"'
expect '' src/base/x_test.cc '#include "lease/y.h"'
expect '' src/base/x.cc '// #include "lease/y.h"' '/* #include "lease/y.h"' '#include "wire/y.h" */'

# Time, sleep, randomness, threads.
expect 'reads a clock' src/lease/x.cc 'auto t = std::chrono::steady_clock::now();'
expect 'reads a clock' src/lease/x.cc 'auto t = BootClock::now();'
expect 'reads a clock' src/lease/x.cc 'clock_gettime(CLOCK_BOOTTIME, &t);'
expect 'sleeps' src/wire/x.cc 'std::this_thread::sleep_for(1ms);'
expect 'draws randomness' src/wire/x.cc 'std::random_device device;'
expect 'starts a thread' src/client/x.cc 'std::thread worker(run);'
expect 'starts a thread' src/client/x.cc 'std::jthread worker_;'
expect '' src/base/x.cc 'std::thread worker(run); auto t = std::chrono::steady_clock::now();'
expect '' src/recipes/x.cc 'auto id = std::this_thread::get_id(); std::thread::id other;'
expect '' src/recipes/x.cc 'auto t = runtime.time(); auto r = runtime->random();'
expect '' src/wire/x_test.cc 'std::thread worker(run);'
expect '' cli/x.cc 'std::this_thread::sleep_for(1ms);'
expect '' src/wire/x.cc '// std::thread is not used here'
expect '' src/wire/x.cc 'BootClock::now();  // layers: allow(clock) outside of any loop'
expect 'reads a clock' src/wire/x.cc 'BootClock::now();  // layers: allow(clock)'
expect 'reads a clock' src/wire/x.cc 'BootClock::now();  // layers: allow(thread) wrong kind'

# Tables.
expect 'defines a table outside src/sql' src/fence/x.cc '"CREATE TABLE IF NOT EXISTS holdfast_fence("'
expect '' src/sql/x.h '"CREATE TABLE IF NOT EXISTS holdfast_fence("'
expect '' src/fence/x.cc '"CREATE TABLE IF NOT EXISTS holdfast_fence("  // layers: allow(table) a file'

((failures == 0)) || exit 1
echo "every rule was seen to bite"
