"""Threads: the GIL is free while one waits; waits are cancelled; one lock object serves many threads."""

import threading
import time
import unittest

import holdfast
from support import StoreCase


class ThreadsTest(StoreCase):
    def test_others_run_while_one_waits(self) -> None:
        with self.client.mutex("x"):
            waiting = threading.Thread(target=lambda: self.client.mutex("x").acquire().release())
            waiting.start()
            self.await_waiter()
            end = time.monotonic() + 0.2
            steps = 0
            while time.monotonic() < end:
                steps += 1
            self.assertGreater(steps, 1000)  # it could not take one, if the waiter kept the GIL
        waiting.join()

    def test_one_lock_object_excludes_threads(self) -> None:
        lock, inside, most, total = self.client.mutex("x"), 0, 0, 0

        def work() -> None:
            nonlocal inside, most, total
            for _ in range(50):
                with lock:
                    inside += 1
                    most = max(most, inside)
                    total += 1
                    inside -= 1

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
        self.assertEqual((most, total), (1, 250))

    def test_a_wait_is_cancelled_from_another_thread(self) -> None:
        cancel, outcomes = holdfast.Cancel(), []

        def wait() -> None:
            try:
                self.client.mutex("x").acquire(cancel=cancel)
            except holdfast.Cancelled as error:
                outcomes.append(error.code)

        with self.client.mutex("x"):
            threads = [threading.Thread(target=wait) for _ in range(3)]
            for thread in threads:
                thread.start()
            while self.waiters() < 3:
                time.sleep(0.002)
            cancel.cancel()
            for thread in threads:
                thread.join()
            self.assertEqual(outcomes, ["cancelled"] * 3)
            self.assertEqual(self.waiters(), 0)
        wait()  # for good: it does not begin
        self.assertEqual(len(outcomes), 4)
        self.assertTrue(cancel.cancelled)

    def test_so_is_a_wait_of_the_main_thread(self) -> None:
        cancel = holdfast.Cancel()

        def trigger() -> None:
            self.await_waiter()
            cancel.cancel()

        with self.client.mutex("x"):
            thread = threading.Thread(target=trigger)
            thread.start()
            with self.assertRaises(holdfast.Cancelled):
                self.client.mutex("x").acquire(cancel=cancel)
            thread.join()
            self.assertEqual(self.waiters(), 0)

    def test_a_thread_leaves_only_what_it_entered(self) -> None:
        lock = self.client.mutex("x")
        with self.assertRaises(holdfast.Closed):
            lock.__exit__(None, None, None)


if __name__ == "__main__":
    unittest.main()
