"""The same as first.cc, in Python."""

import sys

import holdfast


def main() -> int:
    client = holdfast.open()  # or a URL: "sqlite:///path/to/locks.db"
    mutex = client.mutex("nightly-report")
    try:
        lease = mutex.acquire(timeout=10)
    except holdfast.Busy as busy:  # An outcome, not an accident: it says who holds the lock.
        print(f"{busy.holder} is at it: {busy}", file=sys.stderr)
        return 1

    with lease:  # The lock is ours, and renewed in the background, until the end of the block or its loss.
        print("nightly-report is mine, token", lease.token)
        if lease.lost.is_set():  # Ask before each step; lease.lost.wait() and `await lease.lost` tell at once.
            return 1
        # Give the token to whatever you write to, so that it can refuse an older one: holdfast.FenceGate.
    return 0


if __name__ == "__main__":
    sys.exit(main())
