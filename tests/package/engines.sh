#!/usr/bin/env bash
# Each engine can be left out of the build, by its option or because its client library is absent. Configures only, and
# compiles what knows all engines.
# Usage: engines.sh SOURCE_DIR WORK_DIR COMPILER
set -euo pipefail

source=$1 work=$2 compiler=$3
engines=(redis redlock memcached zookeeper etcd mysql postgres)
rm -rf "$work"
mkdir -p "$work/nothing"
fail() {
  printf 'FAILED: %s\n' "$1"
  exit 1
}
configure() {
  cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DHOLDFAST_BUILD_CLI=OFF \
    -DHOLDFAST_BUILD_TESTS=OFF -DHOLDFAST_BUILD_BENCH=OFF "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    fail "cmake $*"
  }
}
# expect ENGINE…: all of them are built, and no others.
expect() {
  local engine is
  for engine in "${engines[@]}"; do
    is=absent
    ! grep -q "src/engines/$engine/" "$work/build/compile_commands.json" || is=built
    [[ " $* " == *" $engine "* && $is == built || " $* " != *" $engine "* && $is == absent ]] ||
      fail "the engine $engine is $is; expected are: $*"
  done
  grep -q src/engines/sqlite/ "$work/build/compile_commands.json" || fail 'SQLite is always built'
}

for engine in "${engines[@]}"; do
  configure "-DHOLDFAST_ENGINE_${engine^^}=OFF"
  others=" ${engines[*]} "
  others=${others/ $engine / }
  [[ $engine != redis ]] || others=${others/ redlock / }
  # shellcheck disable=SC2086 # a list
  expect $others
  configure "-DHOLDFAST_ENGINE_${engine^^}=ON"
done

# And all of them at once.
options=()
for engine in "${engines[@]}"; do options+=("-DHOLDFAST_ENGINE_${engine^^}=OFF"); done
configure "${options[@]}"
expect

# Without client libraries each of their engines goes, with a line that says so.
rm -rf "$work/build"
PKG_CONFIG_LIBDIR=$work/nothing configure
expect memcached zookeeper
for engine in redis redlock etcd mysql postgres; do
  grep -q "^-- holdfast: no engine $engine, because" "$work/log" || fail "no line says that $engine is left out"
done

# The parts that know all engines do without any of them.
options=()
for engine in "${engines[@]}"; do options+=("-DHOLDFAST_WITHOUT_${engine^^}"); done
for file in engines/registry.cc versioned/store.cc; do
  "$compiler" -std=c++20 -fsyntax-only "${options[@]}" -I "$source/src" -I "$source/include" "$source/src/$file"
done
echo "each of ${#engines[@]} engines can be left out"
