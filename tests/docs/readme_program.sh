#!/usr/bin/env bash
# Compares the first C++ block of README.md with examples/first.cc.
# Usage: readme_program.sh SOURCE_DIR
set -euo pipefail
cd "$1"
program=$(awk '/^```cpp$/ { inside = 1; next } /^```$/ && inside { exit } inside' README.md)
[[ -n $program ]] || { echo 'README.md has no ```cpp block'; exit 1; }
diff -u --label README.md --label examples/first.cc <(printf '%s\n' "$program") examples/first.cc
echo 'the same'
