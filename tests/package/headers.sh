#!/usr/bin/env bash
# Every public header stands alone, and brings no warning to those who include it. So does a program that sets only
# some of the options.
# Usage: headers.sh INCLUDE_DIR SOURCE COMPILER…
set -euo pipefail

include=$1 source=$2
shift 2
status=0

# Headers for users of another library, where that is present. asio_bridge.h is a part of asio.h and boost_asio.h.
needed_by() {
  case $1 in
    asio.h) echo asio.hpp ;;
    boost_asio.h) echo boost/asio.hpp ;;
    fmt.h) echo fmt/format.h ;;
    *) echo . ;;
  esac
}

for compiler in "$@"; do
  flags=(-std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror "-I$include")
  count=0
  for header in "$include"/holdfast/*.h; do
    name=$(basename "$header")
    [[ $name != asio_bridge.h && -e /usr/include/$(needed_by "$name") ]] || continue
    printf '#include "holdfast/%s"\n#include "holdfast/%s"\n' "$name" "$name" |
      "$compiler" "${flags[@]}" -x c++ - || status=1
    count=$((count + 1))
  done
  "$compiler" "${flags[@]}" "$source" || status=1
  echo "$compiler: $count headers"
  ((count > 20)) || status=1
done
exit "$status"
