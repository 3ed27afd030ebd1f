"""Lease: a lock that was granted, and the signal of its loss."""

from __future__ import annotations

import math
import os
import threading
import time
import warnings
from types import TracebackType
from typing import Generator, Optional, Type

from ._calls import Call, readable, wait_readable
from ._errors import Exhausted, check, error_slot, text
from ._native import ffi, lib
from ._values import Mode, from_bytes

_making = threading.Lock()


class Lost:
    """Set when the lock is lost, before anybody else can hold it. Like threading.Event; and ``await lease.lost``."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._descriptor = lib.pyhf_watch_loss(call.pointer)
        if self._descriptor < 0 and lib.pyhf_loss(call.pointer) != lib.PYHF_LOST:
            raise Exhausted("no descriptor is left for this process: raise its limit (ulimit -n)")

    def is_set(self) -> bool:
        return bool(lib.pyhf_loss(self._call.pointer) == lib.PYHF_LOST)

    def __bool__(self) -> bool:
        return self.is_set()

    def wait(self, timeout: Optional[float] = None) -> bool:
        """True if it was lost; False when the timeout is over, or the lease ends by a release."""
        if lib.pyhf_loss(self._call.pointer) == lib.PYHF_HELD:
            wait_readable(self._descriptor, math.inf if timeout is None else timeout)
        return self.is_set()

    async def wait_async(self) -> bool:
        """As wait(), in an event loop; a timeout is asyncio's."""
        if lib.pyhf_loss(self._call.pointer) == lib.PYHF_HELD:
            own = os.dup(self._descriptor)  # an event loop knows one reader per descriptor
            try:
                await readable(own)
            finally:
                os.close(own)
        return self.is_set()

    def __await__(self) -> Generator[object, None, bool]:
        return self.wait_async().__await__()

    def __repr__(self) -> str:
        return f"<holdfast.Lost {'set' if self.is_set() else 'not set'}>"


class Lease:
    """A lock that is ours: renewed in the background until it is released or lost. ``with lease:`` releases it.

    A lease that is collected is released, with a ResourceWarning. From every thread; in a forked child it is nothing.
    """

    _open = False

    def __init__(self, call: Call) -> None:
        self._call = call
        self._pointer = lib.pyhf_lease(call.pointer)
        self._lost: Optional[Lost] = None
        self._process = os.getpid()
        self._open = True

    @property
    def token(self) -> int:
        """The fencing token: greater than that of every earlier holder. Show it to what you write to."""
        return int(lib.hf_lease_token(self._pointer))

    @property
    def mode(self) -> Mode:
        return Mode(lib.hf_lease_mode(self._pointer))

    @property
    def name(self) -> str:
        length = ffi.new("size_t *")
        data = lib.hf_lease_name(self._pointer, length)
        return from_bytes(ffi.buffer(data, length[0])[:])

    @property
    def held(self) -> bool:
        """True while the lock is ours; reads the clock. Once False, False for ever."""
        return bool(lib.hf_lease_held(self._pointer))

    @property
    def valid_for(self) -> float:
        """For how many seconds the lock is surely ours, if nothing more is heard of the server."""
        until: int = lib.hf_lease_valid_until_ns(self._pointer)
        return max(0.0, (until - time.clock_gettime_ns(time.CLOCK_BOOTTIME)) / 1e9)

    @property
    def lost(self) -> Lost:
        with _making:
            if self._lost is None:
                self._lost = Lost(self._call)
            return self._lost

    def renew(self) -> None:
        """Renews now, in addition to the background."""
        slot = error_slot()
        check(lib.hf_lease_renew(self._pointer, slot), slot)

    def release(self) -> None:
        """Gives the lock back. NotHeld if it had been lost."""
        slot = error_slot()
        code = lib.hf_lease_release(self._pointer, slot)
        self._end(code)
        check(code, slot)

    async def release_async(self) -> None:
        call = Call()
        self._open = False
        try:
            await call.arrive(lib.pyhf_begin_release(call.pointer, self._pointer))
        finally:
            self._end(lib.pyhf_result(call.pointer))

    def detach(self) -> str:
        """Ends the renewal and leaves the lock held until its ttl ends. The text is for adopt(): keep it secret."""
        slot = error_slot()
        handle = ffi.gc(ffi.new("char **"), lib.pyhf_free_text)
        check(lib.hf_lease_detach(self._pointer, handle, slot), slot)
        self._end(lib.HF_OK)
        return text(handle[0])

    def _end(self, outcome: int) -> None:
        self._open = False
        lib.pyhf_end_watch(self._call.pointer, outcome)

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if not self._open:
            return  # released inside
        try:
            self.release()
        except Exception:
            if kind is None:  # an exception of the body is not hidden
                raise

    async def __aenter__(self) -> Lease:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if not self._open:
            return
        try:
            await self.release_async()
        except Exception:
            if kind is None:
                raise

    def __del__(self) -> None:
        if not self._open or self._process != os.getpid():
            return
        self._open = False
        try:
            warnings.warn(f"the lease of {self.name!r} was not released", ResourceWarning, source=self, stacklevel=2)
        finally:  # a warning may be made an error
            self._end(lib.hf_lease_release(self._pointer, ffi.NULL))

    def __reduce__(self) -> str:
        raise TypeError("a lease belongs to its process: give lease.detach() to another, and adopt() it there")

    def __repr__(self) -> str:
        return f"<holdfast.Lease {self.name!r} token {self.token} {'held' if self.held else 'not held'}>"
