#!/usr/bin/env bash
# Makes the .deb packages of a build and checks what they hold and depend on.
# Usage: deb.sh BUILD_DIR WORK_DIR
set -euo pipefail

build=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work" >"$work/cpack.log" 2>&1 || {
  cat "$work/cpack.log"
  exit 1
}

fail() {
  printf 'FAILED: %s\n' "$1"
  exit 1
}
field() { dpkg-deb -f "$1" "$2"; }

command_deb=$(echo "$work"/holdfast_*.deb)
develop_deb=$(echo "$work"/libholdfast-dev_*.deb)
dpkg-deb -I "$command_deb"
dpkg-deb -I "$develop_deb"

# depends_truly DEB: Depends names the package of each library that a program or library in the
# .deb is linked with. (The command may have libstdc++ inside: then it needs no package for it.)
depends_truly() {
  local deb=$1 root=$work/one depends file library path package
  depends=" $(field "$deb" Depends | tr ',|' '  ') "
  rm -rf "$root"
  dpkg-deb -x "$deb" "$root"
  while read -r file; do
    while read -r library path; do
      package=$(dpkg -S "$path" 2>/dev/null || dpkg -S "/usr$path" 2>/dev/null ||
        dpkg -S "${path#/usr}") || fail "no package has $path"
      package=${package%%:*}
      [[ $depends == *" $package "* ]] || fail "$(basename "$deb") needs $package for $library"
      echo "$(basename "$file") is linked with $library, of $package: named"
    done < <(needed_by "$file")
  done < <(find "$root" -type f \( -path '*/bin/*' -o -name '*.so.*' \))
}

# needed_by FILE: "LIBRARY PATH" of each shared library that it names itself, but our own.
needed_by() {
  local found
  found=$(ldd "$1")
  readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r library; do
    [[ $library == libholdfast.* || $library == ld-linux* ]] ||
      awk -v library="$library" '$1 == library { print library, $3 }' <<<"$found"
  done
}

programs=("$command_deb")
for deb in "$work"/libholdfast0*.deb; do
  [[ ! -e $deb ]] || programs+=("$deb")
done
sqlite=no
for deb in "${programs[@]}"; do
  depends_truly "$deb"
  [[ $(field "$deb" Depends) != *libsqlite3-0* ]] || sqlite=yes
done
[[ $sqlite == yes ]] || fail 'no package depends on libsqlite3-0'
[[ $(field "$develop_deb" Depends) == *libsqlite3-dev* ]] || fail 'libsqlite3-dev is missing'

# Contents.
for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
for file in bin/holdfast include/holdfast/holdfast.h lib/*/cmake/holdfast/holdfastConfig.cmake \
  lib/systemd/system/holdfast@.service share/doc/holdfast/examples/jobs/holdfast.cron; do
  compgen -G "$work/root/usr/$file" >/dev/null ||
    compgen -G "$work/root/usr/${file/\*\//}" >/dev/null || fail "no /usr/$file"
done
LD_LIBRARY_PATH=$(dirname "$(find "$work/root/usr/lib" -name 'libholdfast.*' | head -n 1)") \
  "$work/root/usr/bin/holdfast" --version
"$work/root/usr/bin/holdfast" sim --list >/dev/null || fail 'holdfast sim does not start'
