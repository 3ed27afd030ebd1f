"""FenceGate: the check at a resource that refuses older tokens."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Optional, Type, Union

from ._errors import check, error_slot
from ._lease import Lease
from ._native import ffi, lib
from ._values import Mode, Name, c_text, to_bytes


class Pass:
    """The right to touch the resource. Nobody else is inside until it ends: keep it for one operation."""

    def __init__(self, slot: ffi.CData) -> None:
        self._slot: Optional[ffi.CData] = slot

    def end(self) -> None:
        slot, self._slot = self._slot, None
        if slot is not None:
            lib.hf_pass_free(slot[0])
            slot[0] = ffi.NULL

    def __enter__(self) -> Pass:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.end()


class FenceGate:
    """The check at a resource of yours that refuses an older token (StaleToken). For reads and for writes::

        gate = FenceGate.in_file("/var/lib/app/ledger.fence")
        with gate.enter(lease):
            ...  # read or write the resource
    """

    def __init__(self, slot: ffi.CData) -> None:
        self._slot = slot

    @classmethod
    def in_file(cls, file: Union[str, os.PathLike[str]]) -> FenceGate:
        """The mark in a small file of its own, on a local file system."""
        slot, error = ffi.gc(ffi.new("hf_fence **"), lib.pyhf_free_fence), error_slot()
        check(lib.hf_fence_in_file(c_text(os.fsencode(file), "the file"), slot, error), error)
        return cls(slot)

    @classmethod
    def in_sqlite(cls, database: Union[str, os.PathLike[str]], resource: Name) -> FenceGate:
        """The mark of ``resource`` in tables of a SQLite database."""
        data = to_bytes(resource)
        slot, error = ffi.gc(ffi.new("hf_fence **"), lib.pyhf_free_fence), error_slot()
        path = c_text(os.fsencode(database), "the database")
        check(lib.hf_fence_in_sqlite(path, data, len(data), slot, error), error)
        return cls(slot)

    def enter(self, ticket: Union[Lease, int], mode: Optional[Mode] = None) -> Pass:
        """Waits until nobody is inside. A token alone counts as exclusive; a lease knows its mode."""
        token = ticket if isinstance(ticket, int) else ticket.token
        if mode is None:
            mode = Mode.EXCLUSIVE if isinstance(ticket, int) else ticket.mode
        slot, error = ffi.gc(ffi.new("hf_pass **"), lib.pyhf_free_pass), error_slot()
        check(lib.hf_fence_enter(self._slot[0], token, mode, slot, error), error)
        return Pass(slot)

    def mark(self) -> int:
        """The highest token ever admitted; 0 if none."""
        token, error = ffi.new("uint64_t *"), error_slot()
        check(lib.hf_fence_mark(self._slot[0], token, error), error)
        return int(token[0])
