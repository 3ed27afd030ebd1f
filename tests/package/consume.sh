#!/usr/bin/env bash
# Builds the consumer against an installed tree and runs it twice: the second token is higher.
# Usage: consume.sh cmake|pkg-config|c PREFIX LIBDIR WORK_DIR COMPILER
set -euo pipefail

way=$1 prefix=$2 libdir=$3 work=$4 compiler=$5
consumer=$(cd "$(dirname "$0")/consumer" && pwd)
rm -rf "$work"
mkdir -p "$work"

case $way in
  cmake)
    cmake -S "$consumer" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
      -DCMAKE_CXX_COMPILER="$compiler"
    cmake --build "$work/build"
    program=$work/build/consumer
    ;;
  pkg-config)
    export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
    pkg-config --modversion holdfast
    read -ra flags < <(pkg-config --cflags --libs holdfast)
    "$compiler" -std=c++20 "$consumer/main.cc" -o "$work/consumer" "${flags[@]}"
    program=$work/consumer
    ;;
  c)
    export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
    read -ra flags < <(pkg-config --cflags --libs holdfast)
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror "$consumer/main.c" -o "$work/consumer" "${flags[@]}"
    program=$work/consumer
    ;;
esac

export LD_LIBRARY_PATH=$prefix/$libdir
first=$("$program" "$work/locks.db")
second=$("$program" "$work/locks.db")
echo "tokens: $first, then $second"
((second > first && first > 0))
