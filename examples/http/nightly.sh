#!/bin/sh
# A job that runs on one of several machines at a time, with curl alone. Usage: nightly.sh NAME COMMAND [ARGUMENT…]
#
# Waits for the lock, runs COMMAND with the fencing token in $HOLDFAST_TOKEN, renews meanwhile, gives the lock back.
# If it is lost, COMMAND is ended. $HOLDFAST_HTTP says where the daemon is. (hold.sh does the same in fewer lines.)
set -eu
daemon=${HOLDFAST_HTTP:-http://127.0.0.1:7272}
name=$1 # as it stands in a URL: a / in it is %2F
shift

# Seconds of a clock that goes on while the machine sleeps.
now() { cut -d. -f1 /proc/uptime; }
new_key() { cat /proc/sys/kernel/random/uuid; }
# post TARGET BODY [CURL'S OPTIONS]: its status tells success from failure.
post() {
  target=$1 body=$2
  shift 2
  curl -sS --fail-with-body --json "$body" "$@" "$daemon$target"
}
field() { printf '%s' "$answer" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

# The key makes it one request: repeated after a lost answer, it gets the same lock, not a second one. Another holder
# (409) and a daemon that is down are waited for alike.
key=$(new_key)
while sent=$(now) && ! answer=$(post "/v1/locks/$name" '{"ttl_ms":15000,"wait_ms":30000}' \
  -H "Idempotency-Key: $key" -m 60); do
  case $answer in
    *'"code":"not_held"'*) key=$(new_key) ;; # it was ours, and ended before we heard of it
    *'"status":40'[0-8]* | *'"status":42'*) echo "$answer" >&2 && exit 64 ;;
  esac
  sleep 1
done
lease=$(field lease)
HOLDFAST_TOKEN=$(field token)
export HOLDFAST_TOKEN
# What is left counts from before the request was sent.
valid_until=$((sent + $(field valid_from_send_ms) / 1000))

"$@" &
job=$!
# Each round takes 5 seconds at most (2 asleep, 3 in curl): if the next one might be too late, the job ends now.
while [ $(($(now) + 5)) -lt $valid_until ] && sleep 2 && kill -0 $job; do
  sent=$(now)
  if answer=$(post /v1/renew "{\"lease\":\"$lease\"}" -m 3); then
    valid_until=$((sent + $(field valid_from_send_ms) / 1000))
  else
    case $answer in *'"code":"not_held"'*) valid_until=0 ;; esac
  fi
done 2>/dev/null && kill $job 2>/dev/null && echo "nightly.sh: the lock was lost, the job was ended" >&2 &
renewer=$!
status=0
wait $job || status=$?
kill $renewer 2>/dev/null || true
post /v1/release "{\"lease\":\"$lease\"}" -m 10 --retry 3 >/dev/null || true # or it ends with its ttl
exit $status
