"""fork() and multiprocessing: a child holds nothing, and harms nothing."""

import asyncio
import gc
import multiprocessing
import threading
import unittest
from typing import Callable, List

import holdfast
from support import StoreCase, in_child


def take_in_another_process(url: str) -> int:
    with holdfast.open(url).mutex("spawned") as lease:
        return lease.token


class ForkTest(StoreCase):
    def test_every_call_in_a_child_raises_forked(self) -> None:
        lock = self.client.mutex("x")
        lease = lock.acquire()
        lease.lost  # It has an event.
        calls: List[Callable[[], object]] = [
            lock.acquire,
            lock.try_acquire,
            lambda: lock.acquire(timeout=0.01),
            lambda: asyncio.run(lock.acquire_async()),
            lease.renew,
            lease.detach,
            self.client.ping,
            self.client.list,
            lambda: self.client.evict("x", 1),
            lambda: asyncio.run(lease.release_async()),
        ]
        for i, call in enumerate(calls):
            said = in_child(lambda: str(call()))
            self.assertRegex(said, "^raised Forked: ", f"call {i}")
        self.assertEqual(in_child(lambda: f"{lease.held} {lease.lost.is_set()} {lease.valid_for}"), "False True 0.0")
        self.assertTrue(lease.held)
        self.assertFalse(lease.lost.is_set())
        lease.release()

    def test_a_child_that_collects_everything_releases_nothing(self) -> None:
        lock = self.client.mutex("x")
        lease = lock.acquire()
        waiting = threading.Thread(target=lambda: lock.acquire().release())
        waiting.start()
        self.await_waiter()
        kept = [lease]

        def forget() -> str:
            del self.client
            kept.clear()
            gc.collect()
            return "gone"

        del lease
        self.assertEqual(in_child(forget), "gone")
        self.assertTrue(kept[0].held)
        self.assertEqual((self.holders(), self.waiters()), (1, 1))
        kept[0].release()
        waiting.join()

    def test_a_spawned_process_opens_its_own_client(self) -> None:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            tokens = pool.map(take_in_another_process, [self.url] * 4)
        self.assertEqual(len(set(tokens)), 4)


if __name__ == "__main__":
    unittest.main()
