"""Lock: one way to ask for one lock, as often as you like."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Dict, List, Optional, Type

from ._calls import Call, Cancel, patience
from ._errors import Closed
from ._lease import Lease
from ._native import ffi
from ._values import Name, from_bytes, to_bytes


class Lock:
    """Made by a client. ``with lock as lease:`` waits for it and releases it; from every thread and task."""

    def __init__(self, name: Name, slot: ffi.CData, local: bool) -> None:
        self._name = from_bytes(to_bytes(name))
        self._slot = slot
        self._pointer = slot[0]
        self._local = local
        self._entered: Dict[object, List[Lease]] = {}

    @property
    def name(self) -> str:
        return self._name

    def acquire(self, timeout: Optional[float] = None, *, cancel: Optional[Cancel] = None) -> Lease:
        """Waits, at most ``timeout`` seconds: Busy then. A signal whose handler raises ends the wait."""
        call = Call()
        call.acquire(self._pointer, patience(timeout), cancel, self._local)
        return Lease(call)

    def try_acquire(self) -> Lease:
        """Does not wait: Busy if it is not free, or somebody waits already."""
        call = Call()
        call.attempt(self._pointer)
        return Lease(call)

    async def acquire_async(self, timeout: Optional[float] = None) -> Lease:
        """Waits in the running event loop. Cancelling the task ends the wait, and leaves nothing behind."""
        call = Call()
        await call.acquire_async(self._pointer, patience(timeout))
        return Lease(call)

    # The same lock may be entered by several threads and tasks; each leaves with its own lease.

    def __enter__(self) -> Lease:
        return self._enter(threading.get_ident(), self.acquire())

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._leave(threading.get_ident()).__exit__(kind, error, trace)

    async def __aenter__(self) -> Lease:
        return self._enter(asyncio.current_task(), await self.acquire_async())

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self._leave(asyncio.current_task()).__aexit__(kind, error, trace)

    def _enter(self, by: object, lease: Lease) -> Lease:
        self._entered.setdefault(by, []).append(lease)
        return lease

    def _leave(self, by: object) -> Lease:
        leases = self._entered.get(by)
        if not leases:
            raise Closed(f"this thread or task has not entered the lock {self._name!r}")
        lease = leases.pop()
        if not leases:
            del self._entered[by]
        return lease

    def __reduce__(self) -> str:
        raise TypeError("a lock belongs to its process: open a client in the other one, too")

    def __repr__(self) -> str:
        return f"<holdfast.Lock {self._name!r}>"


class SharedMutex:
    """Many readers or one writer; a waiting writer goes before readers that came later."""

    def __init__(self, exclusive: Lock, shared: Lock) -> None:
        self.exclusive = exclusive
        self.shared = shared
