# Shared by the scripts of this folder; sourced, never run. Needs bash.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for those who source it

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
JOBS=${HOLDFAST_JOBS:-$(nproc)}

# ---- Packages, by purpose -----------------------------------------------------------------------

BUILD_PACKAGES=(g++ cmake ninja-build pkg-config libsqlite3-dev libhiredis-dev libnghttp2-dev
  libssl-dev libpq-dev libmariadb-dev libcli11-dev nlohmann-json3-dev libboost-dev libgtest-dev libgmock-dev)
# For hosts that use these libraries, which we do not: asio.h, boost_asio.h and fmt.h are headers alone.
HOST_PACKAGES=(libasio-dev libboost-dev libfmt-dev)
PACKAGING_PACKAGES=(dpkg-dev file doxygen "${HOST_PACKAGES[@]}")
# The Python package is built and tested with Debian's Python.
PYTHON_PACKAGES=(python3-dev python3-cffi python3-venv mypy)
DOCS_PACKAGES=(doxygen)
FORMAT_PACKAGES=(clang-format-19)
TIDY_PACKAGES=(clang-tidy-19)
CLANG_PACKAGES=(clang-19)
# A compiler for arm64, and what runs its programs here.
ARM64_PACKAGES=(g++-aarch64-linux-gnu qemu-user)
SHELL_PACKAGES=(shellcheck)
FUZZ_PACKAGES=(clang-19 libclang-rt-19-dev llvm-19 cmake ninja-build pkg-config libhiredis-dev)

# The tests of shell completion run it in the shells. (bash runs this script.)
CLI_PACKAGES=(zsh fish)
# The tests of the daemon: clients in other languages, its description, a browser for its page, a Prometheus.
SERVE_PACKAGES=(curl nodejs golang-go python3-hypothesis python3-jsonschema python3-yaml chromium chromium-driver
  prometheus)

# Needed by the tests of an engine, beside the build. SQLite is embedded and needs nothing.
SQLITE_PACKAGES=()
REDIS_PACKAGES=(redis-server redis-tools redis-sentinel openssl python3-redis)
ZOOKEEPER_PACKAGES=(zookeeper default-jdk-headless libcurator-recipes-java python3-kazoo)
ETCD_PACKAGES=(etcd-server etcd-client openssl golang-go golang-etcd-server-dev)
MYSQL_PACKAGES=(mariadb-server galera-4 rsync openssl)
POSTGRESQL_PACKAGES=(postgresql pgbouncer openssl)
MEMCACHED_PACKAGES=(memcached)
ENGINE_PACKAGES=("${SQLITE_PACKAGES[@]}" "${REDIS_PACKAGES[@]}" "${ZOOKEEPER_PACKAGES[@]}"
  "${ETCD_PACKAGES[@]}" "${MYSQL_PACKAGES[@]}" "${POSTGRESQL_PACKAGES[@]}"
  "${MEMCACHED_PACKAGES[@]}")

# ---- Talking ------------------------------------------------------------------------------------

if [[ -t 1 && -z ${NO_COLOR:-} && ${CI:-} != true ]]; then
  BOLD=$'\e[1m' DIM=$'\e[2m' GREEN=$'\e[32m' RED=$'\e[31m' BLUE=$'\e[34m' PLAIN=$'\e[0m'
else
  BOLD='' DIM='' GREEN='' RED='' BLUE='' PLAIN=''
fi

say() { printf '%s==>%s %s\n' "$BLUE" "$PLAIN" "$*"; }
fail() {
  printf '%s%s:%s %s\n' "$RED" "$(basename "$0")" "$PLAIN" "$*" >&2
  exit 1
}

# Prints the comment block at the top of the calling script: its help.
print_help() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"; }

# ---- Installing ---------------------------------------------------------------------------------

# Installs those of the named Debian packages that are missing. Starts no service.
install_packages() {
  local missing=() package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here; going on in the hope that these are present: ${missing[*]}"
    return 0
  fi
  [[ $(id -u) == 0 ]] || command -v sudo >/dev/null ||
    fail "these packages are missing, and without root or sudo they cannot be installed. As root:
  apt-get install --no-install-recommends ${missing[*]}"
  say "installing ${missing[*]}"
  as_root bash -c "$APT_SCRIPT" holdfast-install "${missing[@]}" ||
    fail "could not install: ${missing[*]}"
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif [[ ${CI:-} == true || ! -t 0 ]]; then
    sudo -n "$@"  # nobody is there to type a password: fail rather than hang
  else
    sudo "$@"
  fi
}

# Runs as root, once per installation. While it runs, policy-rc.d forbids services to start; what
# was there before is put back, also after a failure. An earlier run that was killed in between
# has left its copy, which is then the true one.
# shellcheck disable=SC2016 # expanded by the inner shell
APT_SCRIPT='
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d saved=/usr/sbin/policy-rc.d.before-holdfast
log=$(mktemp)
restore() {
  rm -f "$log" "$policy"
  if [ -e "$saved" ] || [ -L "$saved" ]; then mv -f "$saved" "$policy"; fi
}
trap restore EXIT
trap "exit 130" INT TERM HUP
if [ ! -e "$saved" ] && { [ -e "$policy" ] || [ -L "$policy" ]; }; then mv "$policy" "$saved"; fi
printf "#!/bin/sh\nexit 101\n" >"$policy"
chmod 755 "$policy"
apt() { apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 </dev/null; }
get() { apt install -y --no-install-recommends "$@"; }
known() {
  local package
  for package; do
    apt-cache policy "$package" | grep -q "Candidate: [^(]" || return 1
  done
}
# The package lists are fetched only if they do not know a package, or are out of date.
if known "$@" && get "$@"; then exit 0; fi
apt update || { cat "$log" >&2; exit 1; }
get "$@" || { cat "$log" >&2; exit 1; }
'

# ---- Building -----------------------------------------------------------------------------------

# configure PRESET: quiet unless it fails. (CMake prints a dependency that is left out as a status
# line that begins with "holdfast:"; those are shown.)
configure() {
  local log
  mkdir -p "$ROOT/build"
  log=$ROOT/build/configure-$1.log
  (cd "$ROOT" && cmake --preset "$1" >"$log" 2>&1) || {
    cat "$log" >&2
    fail "cmake could not configure the preset '$1'"
  }
  sed -n 's/^-- \(holdfast: \)/    \1/p' "$log"
}

# build PRESET [TARGET…]
build() {
  local preset=$1 targets=()
  shift
  (($#)) && targets=(--target "$@")
  say "building '$preset' in build/$preset ($JOBS at a time)"
  configure "$preset"
  # A terminal sees Ninja's progress line; a log sees only warnings, errors and the end.
  if [[ -t 1 ]]; then
    (cd "$ROOT" && cmake --build --preset "$preset" -j "$JOBS" "${targets[@]}")
  else
    (cd "$ROOT" && cmake --build --preset "$preset" -j "$JOBS" "${targets[@]}" -- --quiet)
  fi || fail "the build failed"
}
