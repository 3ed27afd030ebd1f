#!/usr/bin/env bash
# Creates the Conan package from this source tree, against the system's libraries, and consumes it. Only the engines
# that are embedded or small are compiled, and not optimised: what is tested is the recipe. Conan itself comes from the
# package registry that pip is configured for; where there is none, the test is skipped (77).
# Usage: conan.sh PYTHON SOURCE_DIR WORK_DIR COMPILER
set -euo pipefail

python=$1 source=$2 work=$3 compiler=$4
rm -rf "$work"
mkdir -p "$work"
skip() {
  echo "SKIPPED: $1"
  [[ ! -s $work/log ]] || tail -n 3 "$work/log"
  exit 77
}
"$python" -m venv "$work/venv" >"$work/log" 2>&1 || skip 'no virtual environment can be made (Debian: python3-venv)'
"$work/venv/bin/pip" --disable-pip-version-check --retries 1 --timeout 20 install 'conan>=2,<3' >"$work/log" 2>&1 ||
  skip 'pip finds no conan: no package registry can be reached from here'

conan() { CONAN_HOME=$work/home CXX=$compiler "$work/venv/bin/conan" "$@" >"$work/log" 2>&1 || {
  tail -n 60 "$work/log"
  exit 1
}; }
conan profile detect
cp -r "$source/packaging/conan/test_package" "$work/test_package"  # it is built in its own folder
options=()
for engine in redis etcd mysql postgres memcached zookeeper; do options+=(-o "&:$engine=False"); done
conan create "$source/packaging/conan" --test-folder "$work/test_package" "${options[@]}" -s build_type=Debug -s compiler.cppstd=20 \
  -c tools.build:jobs=2 -c tools.cmake.cmaketoolchain:generator=Ninja
grep -E '^holdfast [0-9.]+, token [0-9]+$' "$work/log"
