"""Signals: KeyboardInterrupt ends a wait and leaves nothing behind, wherever it comes."""

import gc
import os
import random
import signal
import threading
import time
import unittest
import warnings
from typing import Callable

from support import StoreCase


class Interrupted(Exception):
    pass


class InterruptTest(StoreCase):
    def during_a_wait(self, act: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            self.await_waiter()
            act()

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def test_keyboard_interrupt_ends_a_wait(self) -> None:
        for wait in (None, 60.0):
            with self.client.mutex("x"):
                thread = self.during_a_wait(lambda: os.kill(os.getpid(), signal.SIGINT))
                with self.assertRaises(KeyboardInterrupt):
                    self.client.mutex("x").acquire(wait)
                thread.join()
                self.assertEqual(self.waiters(), 0)
        self.client.mutex("x").try_acquire().release()

    def test_keyboard_interrupt_ends_the_wait_for_a_loss(self) -> None:
        with self.client.mutex("x") as lease:
            thread = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                lease.lost.wait()
            thread.join()

    def test_a_handler_that_returns_does_not_end_the_wait(self) -> None:
        came = threading.Event()
        before = signal.signal(signal.SIGUSR1, lambda *_: came.set())
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        lease = self.client.mutex("x").acquire()

        def act() -> None:
            os.kill(os.getpid(), signal.SIGUSR1)
            came.wait()
            lease.release()

        thread = self.during_a_wait(act)
        self.client.mutex("x").acquire().release()
        thread.join()
        self.assertTrue(came.is_set())

    def take(self, by_lock: bool) -> None:
        if by_lock:
            with self.client.mutex("x"):
                pass
        else:
            with self.client.mutex("x").acquire():
                pass

    def test_signals_at_any_moment_leave_nothing_behind(self) -> None:
        """A signal comes between any two steps of Python; half of the time the lock is free, else it is waited for."""
        seed = int(os.environ.get("HOLDFAST_SEED", random.randrange(2**32)))
        chance = random.Random(seed)
        raised = 0

        def handler(*_: object) -> None:
            raise Interrupted

        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            for round_ in range(400):
                holder = self.client.mutex("x").acquire() if round_ % 2 else None
                try:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, 300e-6))
                        end = time.monotonic() + 0.001
                        while time.monotonic() < end:
                            self.take(round_ % 4 < 2)
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except Interrupted:
                    raised += 1
                if holder is not None:
                    holder.release()
            gc.collect()
        info = self.client.inspect("x")
        self.assertEqual((info.holders, info.waiters), ((), ()), f"HOLDFAST_SEED={seed}")
        self.assertGreater(raised, 100)  # (Not all: Python ignores an exception inside a destructor.)


if __name__ == "__main__":
    unittest.main()
