#!/usr/bin/env bash
# Runs a case in a directory that did not exist before.
# Usage: run.sh C_TESTS CASE DIRECTORY
set -euo pipefail
rm -rf "$3"
exec "$1" "$2" "$3"
