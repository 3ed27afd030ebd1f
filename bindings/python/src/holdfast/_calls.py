"""Calls that take time: on this thread, interruptible by signals, or awaited."""

from __future__ import annotations

import asyncio
import math
import select
import threading
import time
import weakref
from typing import Optional

from ._errors import Cancelled, Exhausted, InvalidArgument, failure
from ._native import ffi, lib


def patience(timeout: Optional[float]) -> int:
    """Milliseconds, rounded up; None and infinity: for ever."""
    if timeout is None or timeout == math.inf:
        return lib.HF_FOREVER
    if not timeout >= 0:
        raise InvalidArgument(f"a timeout of {timeout} seconds: give 0 or more, or None to wait for ever")
    return math.ceil(timeout * 1000)


def duration(seconds: Optional[float], what: str) -> int:
    """Milliseconds for a field where 0 is the default."""
    if seconds is None:
        return 0
    ms = seconds * 1000
    if not 1 <= ms < 2**63:
        raise InvalidArgument(f"{what} is {seconds} seconds: give at least 0.001")
    return math.ceil(ms)


def wait_readable(descriptor: int, seconds: float = math.inf) -> bool:
    """Waits on this thread. Python may hear of a signal just before poll() begins to block, which then hears nothing:
    so poll() returns now and then, and the handler runs late rather than never."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if poller.poll(max(0.0, min(left, 0.5) * 1000)):
            return True
        if left <= 0:
            return False


class Cancel:
    """Ends waits from another thread: each call that was given it raises Cancelled. For good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: weakref.WeakSet[Call] = weakref.WeakSet()
        self._triggered = False

    def cancel(self) -> None:
        with self._lock:
            self._triggered = True
            calls = list(self._calls)
        for call in calls:
            call.cancel()

    @property
    def cancelled(self) -> bool:
        return self._triggered

    def _watch(self, call: Call) -> None:
        with self._lock:
            if self._triggered:
                raise Cancelled("the wait was cancelled before it began")
            self._calls.add(call)


class Call:
    """Something that is under way, or what came of it. Dropping it ends the wait, or gives the lock back."""

    def __init__(self) -> None:
        self.pointer = ffi.gc(lib.pyhf_call_new(), lib.pyhf_call_drop)
        if not self.pointer:
            raise MemoryError

    def cancel(self) -> None:
        lib.pyhf_call_cancel(self.pointer)

    def check(self, code: int) -> None:
        if code:
            raise failure(code, lib.pyhf_failure(self.pointer))

    def acquire(self, lock: ffi.CData, patience_ms: int, cancel: Optional[Cancel], local: bool) -> None:
        """Waits on this thread. ``local``: to ask once takes no time, because no server is asked."""
        if cancel is not None and cancel.cancelled:
            raise Cancelled("the wait was cancelled before it began")
        # Python handles signals on its main thread, between two steps. So that one waits in poll(), which they
        # interrupt. A lock in a file that is free is taken without: that saves the change of threads.
        on_main_thread = threading.current_thread() is threading.main_thread()
        if not on_main_thread and cancel is None:
            self.check(lib.pyhf_acquire(self.pointer, lock, patience_ms))
        elif not local or lib.pyhf_try(self.pointer, lock) != 0:
            self._begin(lock, patience_ms, cancel)
            self._wait()
            self.check(lib.pyhf_result(self.pointer))

    def attempt(self, lock: ffi.CData) -> None:
        self.check(lib.pyhf_try(self.pointer, lock))

    def _begin(self, lock: ffi.CData, patience_ms: int, cancel: Optional[Cancel]) -> None:
        self._descriptor = lib.pyhf_begin_acquire(self.pointer, lock, patience_ms)
        if self._descriptor < 0:
            raise Exhausted("no descriptor is left for this process: raise its limit (ulimit -n)")
        if cancel is not None:
            try:
                cancel._watch(self)
            except Cancelled:
                self.discard()
                raise

    def _wait(self) -> None:
        try:
            wait_readable(self._descriptor)
        except BaseException:  # KeyboardInterrupt, or what another signal handler raises
            self.discard()
            # Until the wait is over. Another signal ends this, and the rest goes on in the background.
            wait_readable(self._descriptor)
            raise

    def discard(self) -> None:
        lib.pyhf_call_discard(self.pointer)

    async def arrive(self, descriptor: int) -> None:
        """Waits in the running event loop, which goes on meanwhile."""
        if descriptor < 0:
            raise Exhausted("no descriptor is left for this process: raise its limit (ulimit -n)")
        try:
            await readable(descriptor)
        except BaseException:  # asyncio.CancelledError
            self.discard()
            raise
        self.check(lib.pyhf_result(self.pointer))

    async def acquire_async(self, lock: ffi.CData, patience_ms: int) -> None:
        await self.arrive(lib.pyhf_begin_acquire(self.pointer, lock, patience_ms))


async def readable(descriptor: int) -> None:
    """Waits in the running event loop for a descriptor that stays readable and that nobody else waits for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        loop.remove_reader(descriptor)
        if not future.done():
            future.set_result(None)

    loop.add_reader(descriptor, wake)
    try:
        await future
    finally:
        loop.remove_reader(descriptor)
