#!/usr/bin/env bash
# Installs the package with pip into an environment of its own, against an installed library, and uses it. What builds
# it comes from the package registry that pip is configured for; where there is none, the test is skipped (77).
# Usage: pip_install.sh PYTHON SOURCE_DIR PREFIX WORK_DIR
set -euo pipefail

python=$1 source=$2 prefix=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
skip() {
  echo "SKIPPED: $1"
  [[ ! -s $work/log ]] || tail -n 3 "$work/log"
  exit 77
}
"$python" -m venv "$work/venv" >"$work/log" 2>&1 || skip 'no virtual environment can be made (Debian: python3-venv)'
pip=("$work/venv/bin/pip" --disable-pip-version-check --retries 1 --timeout 20)
"${pip[@]}" install 'scikit-build-core>=0.9' 'cffi>=1.15' >"$work/log" 2>&1 ||
  skip 'pip finds no scikit-build-core and cffi: no package registry can be reached from here'

# A copy: what builds it may write beside the sources.
cp -r "$source/bindings/python" "$work/source"
CMAKE_PREFIX_PATH=$prefix "${pip[@]}" install --no-build-isolation "$work/source" >"$work/log" 2>&1 || {
  cat "$work/log"
  exit 1
}
cd "$work"
"$work/venv/bin/python" - "sqlite://$work/locks.db" <<'PROGRAM'
import importlib.metadata
import pathlib
import sys

import holdfast

package = pathlib.Path(holdfast.__file__).parent
assert (package / "py.typed").exists() and (package / "_native.pyi").exists(), "type hints were not installed"
assert importlib.metadata.version("holdfast") == holdfast.__version__, "pyproject.toml has another version"
with holdfast.open(sys.argv[1]).mutex("x") as lease:
    print("installed by pip; token", lease.token)
PROGRAM
