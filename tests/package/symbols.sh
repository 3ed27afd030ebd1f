#!/usr/bin/env bash
# A library is a guest: checks what an installed libholdfast shows to the program that links it.
#   - no global symbol outside namespace holdfast, but the C interface, and weak instantiations of the standard library
#   - no static constructor: a client may be a global object of any file
#   - the shared library exports the API, and nothing else
#   - the C interface is what c_symbols.txt beside this script has: FUNCTION VERSION per line. A line that goes, or
#     changes, breaks programs; a line that comes needs a new HOLDFAST_C_VERSION, once there was a release
# Usage: symbols.sh LIBRARY (libholdfast.a or libholdfast.so)
set -euo pipefail

library=$1
here=$(cd "$(dirname "$0")" && pwd)
fail() {
  printf 'FAILED: %s\n%s\n' "$1" "$2"
  exit 1
}

# A mangled name up to the namespace that it begins with: what kind of symbol it is (vtable, typeinfo,
# guard, thunk), then the functions that it is local to, then qualifiers.
to_namespace='_Z(GV|GR|T[A-Z]|Thn?[0-9]+_)*Z*N?[rVKRO]*'
ours="${to_namespace}(8holdfast|[0-9]+hf_)"  # what C sees as hf_client and its like are structures here
standard="${to_namespace}(S[tasbiod]|9__gnu_cxx)"
# The types of functions on types of ours; placement new.
unnamed='_ZT[IS]P?F.*8holdfast|_Z(nw|na)m|_Zd[la]Pv'

# expect_c_symbols FOUND WHERE COLUMNS: the C interface, as it is listed.
expect_c_symbols() {
  local difference
  difference=$(diff -u --label c_symbols.txt --label "$2" <(cut -d ' ' -f "$3" "$here/c_symbols.txt" | sort) \
    <(sort <<<"$1")) || fail "the C interface is not what is listed" "$difference"
}
expect_c_symbols "$(sed -nE 's/^HF_API .*[ *](hf_[a-z_]+)\(.*/\1/p' "$here/../../include/holdfast/c.h")" holdfast/c.h 1

case $library in
  *.a)
    symbols=$(nm --defined-only --extern-only "$library" | awk 'NF == 3 { print $2, $3 }' | sort -u)
    [[ -n $symbols ]] || fail "no symbols" "$library"
    expect_c_symbols "$(awk '$2 ~ /^hf_/ { print $2 }' <<<"$symbols")" "$library" 1
    strangers=$(awk '$1 !~ /[VWu]/' <<<"$symbols" | grep -vE " ($ours|hf_)" || true)
    [[ -z $strangers ]] || fail 'global symbols outside holdfast' "$(c++filt <<<"$strangers")"
    # A weak symbol may also be of the standard library.
    strangers=$(awk '$1 ~ /[VWu]/' <<<"$symbols" | grep -vE " ($ours|$standard|$unnamed|DW\.ref\.)" || true)
    [[ -z $strangers ]] || fail 'weak symbols of somebody else' "$(c++filt <<<"$strangers")"
    constructors=$(nm "$library" 2>/dev/null | grep '_GLOBAL__sub_I' || true)
    [[ -z $constructors ]] || fail 'static constructors' "$constructors"
    constructors=$(objdump -h "$library" | grep -E '\.(init_array|ctors)' || true)
    [[ -z $constructors ]] || fail 'static constructors' "$constructors"
    ;;
  *)
    symbols=$(nm -D --defined-only "$library" | awk 'NF == 3 && $2 != "A" { print $2, $3 }')
    expect_c_symbols "$(sed -nE 's/^. (hf_[a-z_]+)@@/\1 /p' <<<"$symbols")" "$library" 1,2
    symbols=${symbols//@@HOLDFAST_CXX/}
    strangers=$(grep -vE " ($ours|hf_)" <<<"$symbols" || true)
    [[ -z $strangers ]] || fail 'exported, and not ours' "$(c++filt <<<"$strangers")"
    # Of the insides only what the templates of our headers call.
    insides=$(grep -E " ${to_namespace}8holdfast8internal" <<<"$symbols" | c++filt |
      grep -vE 'holdfast::internal::(Loop\b|current_failure|no_message|allocate_frame|free_frame)' || true)
    [[ -z $insides ]] || fail 'insides are exported' "$insides"
    names=$(c++filt <<<"$symbols")
    for name in 'holdfast::Client::open(' 'holdfast::Lease::held() const' 'holdfast::code_name('; do
      grep -qF "$name" <<<"$names" || fail 'not exported' "$name"
    done
    ;;
esac
echo "$(basename "$library"): $(wc -l <<<"$symbols") symbols, all ours"
