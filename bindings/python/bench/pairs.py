"""Pairs of acquire and release a second, from Python and from C++, in the same run.

Usage: pairs.py [URL [SECONDS [ROUNDS]]]     (URL: a new SQLite file)

The C++ side is `holdfast bench`, whose command is found as by `python -m holdfast`. The two take turns, and the best
round of each counts: whatever disturbs a round makes it slower.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

import holdfast


def python_pairs(url: str, seconds: float) -> float:
    """By with blocks, on the main thread."""
    mutex = holdfast.open(url).mutex("holdfast-bench-python")
    with mutex:
        pass
    begin = time.perf_counter()
    end, count = begin + seconds, 0
    while time.perf_counter() < end:
        for _ in range(50):
            with mutex:
                pass
        count += 50
    return count / (time.perf_counter() - begin)


def cpp_pairs(url: str, seconds: float) -> float:
    """By one blocking thread."""
    said = subprocess.run(
        [sys.executable, "-m", "holdfast", "--on", url, "bench", "--seconds", str(round(seconds))],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = re.search(r"pairs\s+(\d+)", said)
    if not found:
        sys.exit(f"holdfast bench said something else than a number of pairs: {said}")
    return float(found[1])


def main() -> None:
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory(prefix="holdfast-pairs-", dir=os.environ.get("TMPDIR")) as directory:
        url = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] else f"sqlite://{directory}/locks.db"
        results = [(python_pairs(url, seconds), cpp_pairs(url, seconds)) for _ in range(rounds)]
    python, cpp = max(one[0] for one in results), max(one[1] for one in results)
    print(f"Python  {python:8.0f} pairs/s")
    print(f"C++     {cpp:8.0f} pairs/s")
    print(f"share   {python / cpp:8.0%}")


if __name__ == "__main__":
    main()
