#!/usr/bin/env bash
# Checks the installed units with systemd's own parser, where it is installed, and the other examples of jobs: options
# that `holdfast run` does not know, programs that do not start.
# Usage: jobs.sh PREFIX
set -euo pipefail

prefix=$1
holdfast=$prefix/bin/holdfast
units=$prefix/lib/systemd/system
examples=$prefix/share/doc/holdfast/examples/jobs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'FAILED: %s\n' "$1"
  exit 1
}

for unit in holdfast@.service holdfast@.timer holdfast-leader@.service; do
  [[ -f $units/$unit ]] || fail "no $units/$unit"
  # An instance, which runs the installed command.
  sed "s#=holdfast #=$holdfast #" "$units/$unit" >"$work/${unit/@/@job}"
done
grep -q "^ExecStart=$holdfast run " "$work/holdfast@job.service" || fail 'the unit does not run holdfast'
if command -v systemd-analyze >/dev/null; then
  # It only warns of what it does not understand.
  said=$(systemd-analyze verify --man=no "$work"/*.service "$work"/*.timer 2>&1) || fail "$said"
  [[ -z $said ]] || fail "$said"
else
  echo 'no systemd-analyze: the units are not verified'
fi

# Each line that runs a command is understood: all of it, but for the command and the store.
lines=0
while read -r line; do
  options=${line#*holdfast run }
  options=${options%% -- *}
  options=${options//%i/job}
  options=${options//\$HOLDFAST_RUN/--no-wait}
  [[ ! $options =~ ^(.*)--on\ [^\ ]+(.*)$ ]] || options=${BASH_REMATCH[1]}${BASH_REMATCH[2]}
  read -ra words <<<"$options"
  out=$("$holdfast" run "${words[@]}" --on "sqlite://$work/locks.db" -- echo ran 2>&1) ||
    fail "$line: $out"
  [[ $out == ran ]] || fail "$line: $out"
  lines=$((lines + 1))
done < <(cat "$work"/*.service "$examples/holdfast.cron" | grep -E '(^ExecStart=|^[0-9*]|^ +[0-9*]).*holdfast run ')
[[ $lines == 4 ]] || fail "$lines lines run holdfast, not 4"
grep -q '^ENTRYPOINT \["holdfast", "run", ' "$examples/Containerfile" || fail 'the container does not run holdfast'
echo "$lines lines are understood"
