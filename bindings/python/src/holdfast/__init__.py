"""A distributed lock with fencing tokens.

    client = holdfast.open()                      # or a URL: "sqlite:///path/to/locks.db"
    with client.mutex("nightly-report") as lease:  # waits; the lease is renewed in the background
        write_report(token=lease.token)            # show the token to what you write to

A call that does not succeed raises: Busy (somebody else holds it; an outcome, no accident), Unknown (no answer came:
never read it as "no"), and other classes of LockError. ``async with`` and ``acquire_async`` wait in asyncio.
"""

from ._calls import Cancel
from ._client import Client, open
from ._errors import (
    Busy,
    Cancelled,
    Closed,
    Exhausted,
    Forked,
    InvalidArgument,
    LockError,
    Misconfigured,
    NotHeld,
    StaleToken,
    Unknown,
    Unreachable,
    Unsupported,
    WouldDeadlock,
    text as _text,
)
from ._fence import FenceGate, Pass
from ._lease import Lease, Lost
from ._lock import Lock, SharedMutex
from ._native import lib as _lib
from ._values import Exclusion, Guarantees, LockInfo, Mode, Party, TokenStrength

#: Of the library.
__version__ = _text(_lib.hf_version())

__all__ = [
    "Busy",
    "Cancel",
    "Cancelled",
    "Client",
    "Closed",
    "Exclusion",
    "Exhausted",
    "FenceGate",
    "Forked",
    "Guarantees",
    "InvalidArgument",
    "Lease",
    "Lock",
    "LockError",
    "LockInfo",
    "Lost",
    "Misconfigured",
    "Mode",
    "NotHeld",
    "Party",
    "Pass",
    "SharedMutex",
    "StaleToken",
    "TokenStrength",
    "Unknown",
    "Unreachable",
    "Unsupported",
    "WouldDeadlock",
    "open",
]
