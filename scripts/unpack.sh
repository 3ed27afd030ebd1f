# Unpacks packages of another Debian release into a folder, ready to run beside the machine's own. Installs nothing,
# changes nothing of the system and needs no root. Shared by the scripts of this folder; sourced, never run.
#
# UNPACKED, which is to be set, is the folder: the release `trixie` gets $UNPACKED/trixie.
# UNPACKED_ARCHITECTURE, if it is set, is the packages' architecture; otherwise it is the machine's.
# HOLDFAST_DEBIAN names the Debian mirror; otherwise it is the one that apt uses here.
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

need_debian() {
  local tool
  for tool in apt-get dpkg-deb flock; do
    command -v "$tool" >/dev/null || fail "'$tool' is missing: this needs a Debian machine"
  done
}

mirror() {
  local found=${HOLDFAST_DEBIAN:-}
  # shellcheck disable=SC2016 # apt's own variables
  [[ $found ]] || found=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' |
    grep -m1 -E '/debian/?$' || true)
  [[ $found ]] || fail "apt has no Debian mirror configured; set HOLDFAST_DEBIAN to one"
  printf '%s\n' "$found"
}

# apt_of RELEASE ARGUMENTS…: apt-get with a state of its own.
apt_of() {
  local state=$UNPACKED/$1.apt architecture=()
  shift
  [[ ! ${UNPACKED_ARCHITECTURE:-} ]] || architecture=(-o APT::Architecture="$UNPACKED_ARCHITECTURE"
    -o APT::Architectures="$UNPACKED_ARCHITECTURE")
  apt-get -qq "${architecture[@]}" -o Dir::State="$state" -o Dir::State::status="$state/status" -o Dir::Cache="$state" \
    -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- \
    -o APT::Sandbox::User=root -o APT::Install-Recommends=0 -o Dpkg::Use-Pty=0 \
    -o Acquire::Retries=3 "$@" </dev/null
}

# fetch RELEASE PACKAGES…: downloads them with all that they depend on, libc included.
fetch() {
  local release=$1 state=$UNPACKED/$1.apt log=$UNPACKED/$1.log
  shift
  mkdir -p "$state/lists/partial" "$state/archives/partial"
  : >"$state/status" # Nothing is installed: everything is needed.
  printf 'deb [signed-by=%s] %s %s main\n' "$KEYRING" "$(mirror)" "$release" >"$state/sources.list"
  {
    [[ ! ${refresh:-} && -e $state/updated ]] || apt_of "$release" update
    : >"$state/updated"
    apt_of "$release" -y --download-only install "$@" ||
      { apt_of "$release" update && apt_of "$release" -y --download-only install "$@"; }
  } >"$log" 2>&1 || {
    cat "$log" >&2
    fail "could not fetch $* of Debian $release; is the mirror reachable?"
  }
}

# unpack RELEASE: what was downloaded and is not unpacked yet.
unpack() {
  local root=$UNPACKED/$1 archive
  mkdir -p "$root/.unpacked"
  for archive in "$UNPACKED/$1.apt/archives"/*.deb; do
    [[ -e $archive ]] || continue
    dpkg-deb -x "$archive" "$root"
    : >"$root/.unpacked/$(basename "$archive")"
    rm "$archive"
  done
}

# relocate ROOT: programs find the loader and the libraries of their own release. The libraries of
# MySQL are in a folder of their own.
relocate() {
  local root=$1 loader=$1/usr/lib64/ld-linux-x86-64.so.2 libraries program
  libraries=$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/mysql/private
  [[ -e $loader ]] || loader=$(find "$root/usr/lib" "$root/lib" -name 'ld-linux*.so.*' 2>/dev/null | head -1)
  [[ $loader ]] || fail "$root has no program loader; this works on x86-64 only"
  local patchelf=("$loader" --library-path "$libraries" "$root/usr/bin/patchelf")
  for program in "$root"/usr/bin/* "$root"/usr/sbin/* "$root"/usr/lib/postgresql/*/bin/*; do
    [[ -f $program && ! -L $program && $program != */patchelf ]] || continue
    [[ $(head -c 4 "$program" | tr -d '\0') == $'\x7fELF' ]] || continue
    [[ $("${patchelf[@]}" --print-interpreter "$program" 2>/dev/null) == /lib* ]] || continue
    "${patchelf[@]}" --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$program"
  done
}
