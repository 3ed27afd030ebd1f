#!/usr/bin/env bash
# Compiles the C++ of a page that is ours: its blocks that begin with "// Holdfast", each as the body of a function.
# Usage: snippets.sh PAGE INCLUDE_DIR COMPILER
set -euo pipefail

page=$1 include=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  printf '#include "holdfast/%s.h"\n' holdfast sql
  cat <<'EOF'
#include <iostream>
#include <mutex>
#include <shared_mutex>
using namespace std::chrono_literals;
void write_report();
void report(const holdfast::Failure&);
EOF
  awk '
    /^```cpp$/ { inside = 1; first = 1; next }
    /^```$/ { if (ours) print "}"; inside = ours = 0; next }
    inside && first {
      first = 0
      ours = /^\/\/ Holdfast/
      if (ours) printf "[[maybe_unused]] static void snippet_%d(holdfast::Client& client) {\n  (void)client;\n", NR
    }
    ours' "$page"
} >"$work/snippets.cc"
count=$(grep -c '^\[\[maybe_unused\]\] static void snippet_' "$work/snippets.cc")
"$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wno-unused-variable -Wno-unused-but-set-variable -Werror "-I$include" "$work/snippets.cc"
echo "$(basename "$page"): $count blocks compile"
((count >= 5))
