"""What the tests share: a store of their own, and conditions instead of sleeps."""

from __future__ import annotations

import faulthandler
import os
import shutil
import tempfile
import time
import unittest
from typing import Callable

import holdfast

faulthandler.dump_traceback_later(50, exit=True)  # A test that hangs says where.


class StoreCase(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="holdfast-python-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.url = f"sqlite://{self.directory}/locks.db"
        self.client = holdfast.open(self.url, label="the first client")

    def waiters(self, name: str = "x") -> int:
        return len(self.client.inspect(name).waiters)

    def holders(self, name: str = "x") -> int:
        return len(self.client.inspect(name).holders)

    def await_waiter(self, name: str = "x") -> None:
        await_condition(lambda: self.waiters(name) > 0)


def await_condition(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come true in time")
        time.sleep(0.002)


def in_child(work: Callable[[], str]) -> str:
    """Runs `work` in a forked child and returns what it returned."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"raised {type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(pid, 0)
    return said
