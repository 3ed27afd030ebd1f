"""``python -m holdfast run …`` is the command ``holdfast``, which it looks for in PATH and becomes."""

from __future__ import annotations

import os
import shutil
import sys
from typing import NoReturn


def main() -> NoReturn:
    command = os.environ.get("HOLDFAST_COMMAND") or shutil.which("holdfast")
    if not command:
        sys.exit(
            "holdfast: the command is not in PATH. It comes with the library (Debian package holdfast, or "
            "cmake --install); HOLDFAST_COMMAND=/path/to/holdfast names one elsewhere"
        )
    try:
        os.execv(command, ["holdfast", *sys.argv[1:]])
    except OSError as problem:
        sys.exit(f"holdfast: cannot run {command}: {problem.strerror}")


if __name__ == "__main__":
    main()
