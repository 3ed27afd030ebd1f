#!/usr/bin/env bash
# Usage: matrix_test.sh scripts/matrix
#
# Logs of test programs, as they end in good and bad ways, and what is counted of them.
set -euo pipefail
matrix=$1 log=$(mktemp) failures=0
trap 'rm -f "$log"' EXIT

# expect WHAT COUNTS: of the log on standard input. COUNTS are passed, failed, skipped; then names.
expect() {
  cat >"$log"
  local found
  found=$("$matrix" --result-of "$log" | paste -sd '|')
  [[ $found == "$2" ]] || { echo "$1: '$found' instead of '$2'"; failures=1; }
}

expect "all is well" "2 0 1" <<'LOG'
[ RUN      ] All/A.One/redis
[       OK ] All/A.One/redis (3 ms)
[ RUN      ] All/A.Two/redis
[       OK ] All/A.Two/redis (12 ms)
[ RUN      ] All/A.Three/redis
[  SKIPPED ] All/A.Three/redis (0 ms)
[  PASSED  ] 2 tests.
LOG

expect "one fails, and is named once" "1 1 0|All/A.Two/redis" <<'LOG'
[ RUN      ] All/A.One/redis
[       OK ] All/A.One/redis (3 ms)
[ RUN      ] All/A.Two/redis
a_test.cc:3: Failure
[  FAILED  ] All/A.Two/redis, where GetParam() = redis (12 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] All/A.Two/redis, where GetParam() = redis
LOG

expect "a crash" "1 1 0|A.Two (crashes, status 139)" <<'LOG'
[ RUN      ] A.One
[       OK ] A.One (3 ms)
[ RUN      ] A.Two
[  ENDED   ] crashes, status 139
LOG

expect "a hang" "0 1 0|A.One (hangs)" <<'LOG'
[ RUN      ] A.One
[  ENDED   ] hangs
LOG

expect "a crash between tests" "1 1 0|(none) (crashes, status 134)" <<'LOG'
[ RUN      ] A.One
[       OK ] A.One (3 ms)
[  ENDED   ] crashes, status 134
LOG

expect "a log that ends in the middle" "0 1 0|A.One (did not end)" <<'LOG'
[ RUN      ] A.One
LOG

expect "nothing ran" "0 1 0|(no test ran)" <<'LOG'
[==========] 0 tests from 0 test suites ran. (0 ms total)
LOG

exit "$failures"
