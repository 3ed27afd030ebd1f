#!/bin/bash
# A job under a lock that is held as long as curl is connected. Usage: hold.sh NAME COMMAND [ARGUMENT…]
#
# The daemon renews it and says so every few seconds. If that stops, or it says that the lock is lost, COMMAND is ended.
set -eu
daemon=${HOLDFAST_HTTP:-http://127.0.0.1:7272}
name=$1
shift

exec 3< <(exec curl -sSN --fail-with-body --json '{"ttl_ms":15000,"wait_ms":600000}' "$daemon/v1/locks/$name/hold")
curl=$!
trap 'kill $curl 2>/dev/null || true' EXIT
# event TIMEOUT: the kind of the next one; fails if there is none.
event() {
  local line
  while read -r -t "$1" -u 3 line; do
    [[ $line == "event: "* ]] && echo "${line#event: }" && return
    [[ $line == "data: "* || -z ${line//$'\r'/} ]] || echo "hold.sh: $line" >&2
  done
  return 1
}
[[ $(event 610) == granted ]] || exit 75

"$@" 3<&- &
job=$!
# Events come every 5 seconds, each when 10 more are left at least.
{ while [[ $(event 9) == renewed ]]; do :; done
  kill $job 2>/dev/null && echo "hold.sh: the lock was lost, the job was ended" >&2; } &
watcher=$!
status=0
wait $job || status=$?
kill $watcher 2>/dev/null || true
exit $status
