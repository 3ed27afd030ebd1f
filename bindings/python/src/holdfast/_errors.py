"""The outcomes of a call that are no success, as exceptions."""

from __future__ import annotations

from typing import Optional

from ._native import ffi, lib


class LockError(Exception):
    """Every failure of Holdfast. ``code`` is its stable name; the text says what to do."""

    code = "unknown_code"


class Busy(LockError):
    """Somebody else holds it, and the wait (if any) is over. Not an accident: an outcome."""

    code = "busy"
    #: The lock's name, for people.
    lock: str = ""
    #: Who holds it, for people; may be empty.
    holder: str = ""
    #: How many waiters were ahead.
    rank: int = 0
    #: The token of (one of) the holders; 0 if not known.
    token: int = 0
    #: For how many seconds the present grant can last without a renewal.
    expires_in: Optional[float] = None


class Unknown(LockError):
    """Sent, but not answered: it may have been done. Never read it as "no"; cleaning up has begun."""

    code = "unknown"


class Cancelled(LockError):
    """The wait was cancelled; nothing is left behind."""

    code = "cancelled"


class NotHeld(LockError):
    """This lease does not hold the lock (any more)."""

    code = "not_held"


class InvalidArgument(LockError, ValueError):
    """The caller's value is wrong: name, ttl, URL, permits."""

    code = "invalid_argument"


class Unsupported(LockError):
    """This engine cannot do that."""

    code = "unsupported"


class Misconfigured(LockError):
    """The store is not usable as it is: permissions, password, corrupt."""

    code = "misconfigured"


class Unreachable(LockError):
    """The store did not answer, or refused for now."""

    code = "unreachable"


class Forked(LockError):
    """The client belongs to the parent process: open one in this process."""

    code = "forked"


class Closed(LockError):
    """The client was closed, or the lease was released or detached."""

    code = "closed"


class WouldDeadlock(LockError):
    """The call would wait for itself."""

    code = "would_deadlock"


class StaleToken(LockError):
    """A fence has seen a newer token."""

    code = "stale_token"


class Exhausted(LockError):
    """No thread, descriptor or memory is left for this process."""

    code = "exhausted"


_CLASSES = {
    one.code: one
    for one in (
        Busy,
        Unknown,
        Cancelled,
        NotHeld,
        InvalidArgument,
        Unsupported,
        Misconfigured,
        Unreachable,
        Forked,
        Closed,
        WouldDeadlock,
        StaleToken,
        Exhausted,
    )
}


def text(pointer: ffi.CData) -> str:
    """What the library wrote for people."""
    return ffi.string(pointer).decode("utf-8", "replace")


def failure(code: int, error: ffi.CData) -> LockError:
    """The exception for what a function of the library returned. ``error`` may be NULL."""
    name = text(lib.hf_code_name(code))
    message = text(lib.hf_error_message(error)) or name.replace("_", " ")
    exception = _CLASSES.get(name, LockError)(message)
    exception.code = name
    busy = ffi.new("hf_busy *")
    busy.size = ffi.sizeof("hf_busy")
    if isinstance(exception, Busy) and lib.hf_error_busy(error, busy):
        exception.lock = text(busy.lock)
        exception.holder = text(busy.holder)
        exception.rank = busy.rank
        exception.token = busy.token
        exception.expires_in = seconds(busy.expires_in_ms)
    return exception


def seconds(ms: int) -> Optional[float]:
    """-1 of the library is "not known"."""
    return None if ms < 0 else ms / 1000


def error_slot() -> ffi.CData:
    """Where a function of the library puts its error."""
    return ffi.gc(ffi.new("hf_error **"), lib.pyhf_free_error)


def check(code: int, slot: ffi.CData) -> None:
    if code:
        raise failure(code, slot[0])
