#!/usr/bin/env bash
# Builds a program that has an Asio of its own against an installed tree, and runs it.
# Usage: asio.sh PREFIX LIBDIR WORK_DIR COMPILER
set -euo pipefail

prefix=$1 libdir=$2 work=$3 compiler=$4
consumer=$(cd "$(dirname "$0")/consumer" && pwd)
rm -rf "$work"
mkdir -p "$work"
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
read -ra flags < <(pkg-config --cflags --libs holdfast)
# Not optimised: what is not inlined is shared with whatever else defines it.
"$compiler" -std=c++20 -O0 "$consumer/asio_host.cc" -o "$work/host" "${flags[@]}"
export LD_LIBRARY_PATH=$prefix/$libdir
token=$(timeout 60 "$work/host" "$work/locks.db" 2>"$work/tracking")
echo "token: $token; the host's Asio wrote $(wc -l <"$work/tracking") lines"
((token > 0))
# And the library wrote none of them: it has no Asio.
grep -q '@asio' "$work/tracking"
