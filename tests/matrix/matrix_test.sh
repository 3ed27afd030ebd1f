#!/usr/bin/env bash
# Usage: matrix_test.sh scripts/matrix
#
# Logs of test programs, as they end in good and bad ways, and what is counted of them; and the page that is written
# of it, which keeps the rows of servers that were not run again.
set -euo pipefail
matrix=$1 log=$(mktemp) folder=$(mktemp -d) failures=0
trap 'rm -rf "$log" "$folder"' EXIT

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

# same WHAT GOT WANTED: two texts.
same() { [[ $2 == "$3" ]] || { echo "$1:"; diff <(echo "$2") <(echo "$3") || true; failures=1; }; }

mkdir "$folder"/{first,second,third}
cat >"$folder/first/etcd-3.7.3.result" <<'RESULT'
etcd 3.7.3 Go_modules 2026-11-18
contract 621 0 12 0
own 56 1 0 0
interop 28 0 1 0
failed EtcdRestore.AName (hangs)
RESULT
cat >"$folder/first/mariadb-11.8.6.result" <<'RESULT'
mariadb 11.8.6 Debian_trixie 2026-11-18
contract 538 0 95 1
own 180 0 6 0
RESULT
first=$("$matrix" --page-of "$folder/first")
echo "$first" >"$folder/page"
same "a page with nothing new" "$("$matrix" --page-of "$folder/second" "$folder/page")" "$first"
same "what was read back" "$(cat "$folder"/second/*.result)" "$(cat "$folder"/first/*.result)"
cat >"$folder/third/etcd-3.7.3.result" <<'RESULT'
etcd 3.7.3 Go_modules 2026-11-19
contract 621 0 12 0
own 57 0 0 0
interop 28 0 1 0
RESULT
same "a row that was run again" "$("$matrix" --page-of "$folder/third" "$folder/page" | grep -E '^\| (etcd|mariadb)|fails')" \
'| etcd | 3.7.3 | Go modules | 621 passed, 12 skipped | 57 passed | 28 passed, 1 skipped | 2026-11-19 |
| mariadb | 11.8.6 | Debian trixie | 538 passed, 95 skipped (1 only alone) | 180 passed, 6 skipped | – | 2026-11-18 |'

exit "$failures"
