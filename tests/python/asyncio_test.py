"""asyncio: locks are awaited, the event loop goes on, and a cancelled task leaves nothing behind."""

import asyncio
import gc
import unittest
from typing import Any, Coroutine

import holdfast
from support import StoreCase


class AsyncioTest(StoreCase):
    def run_async(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run(asyncio.wait_for(work, 40))

    async def until_waiters(self, count: int) -> None:
        while self.waiters() != count:
            await asyncio.sleep(0.002)

    def test_tasks_exclude_each_other(self) -> None:
        inside = most = total = 0

        async def work(lock: holdfast.Lock) -> None:
            nonlocal inside, most, total
            for _ in range(10):
                async with lock as lease:
                    self.assertTrue(lease.held)
                    inside += 1
                    most = max(most, inside)
                    await asyncio.sleep(0)
                    total += 1
                    inside -= 1

        async def main() -> None:
            lock = self.client.mutex("x")
            await asyncio.gather(*(work(lock) for _ in range(20)))

        self.run_async(main())
        self.assertEqual((most, total), (1, 200))

    def test_the_loop_goes_on_while_a_task_waits(self) -> None:
        async def main() -> None:
            lease = await self.client.mutex("x").acquire_async()
            waiting = asyncio.create_task(self.client.mutex("x").acquire_async())
            await self.until_waiters(1)
            self.assertFalse(waiting.done())
            await lease.release_async()
            await (await waiting).release_async()

        self.run_async(main())

    def test_outcomes_are_raised(self) -> None:
        async def main() -> None:
            async with self.client.mutex("x"):
                with self.assertRaises(holdfast.Busy) as caught:
                    await self.client.mutex("x").acquire_async(timeout=0.01)
                self.assertEqual(caught.exception.holder, "the first client")
            with self.assertRaises(holdfast.NotHeld):
                async with self.client.mutex("x") as lease:
                    self.client.evict("x", lease.token)

        self.run_async(main())

    def test_a_cancelled_task_leaves_nothing_behind(self) -> None:
        async def main() -> None:
            async with self.client.mutex("x"):
                waiting = asyncio.create_task(self.client.mutex("x").acquire_async())
                await self.until_waiters(1)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                await self.until_waiters(0)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(self.client.mutex("x").acquire_async(), 0.05)
                await self.until_waiters(0)
            self.client.mutex("x").try_acquire().release()

        self.run_async(main())

    def test_a_task_that_is_cancelled_as_it_is_granted_gives_the_lock_back(self) -> None:
        async def main() -> None:
            for _ in range(50):
                lease = self.client.mutex("x").acquire()
                waiting = asyncio.create_task(self.client.mutex("x").acquire_async())
                await self.until_waiters(1)
                lease.release()  # The grant is on its way, and this thread does not see it yet.
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                self.client.mutex("x").acquire(timeout=20).release()

        self.run_async(main())
        gc.collect()

    def test_a_loop_that_ends_meanwhile_leaves_nothing_behind(self) -> None:
        lease = self.client.mutex("x").acquire()

        async def main() -> None:
            asyncio.create_task(self.client.mutex("x").acquire_async())
            await self.until_waiters(1)

        asyncio.run(main())
        lease.release()
        self.client.mutex("x").acquire(timeout=20).release()

    def test_a_loss_is_awaited(self) -> None:
        async def main() -> None:
            async with self.client.mutex("y") as kept:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(kept.lost.wait_async(), 0.01)
                lease = await self.client.mutex("x", ttl=0.5).acquire_async()

                async def hear() -> bool:
                    return await lease.lost

                tasks = [asyncio.create_task(hear()) for _ in range(3)]
                await asyncio.sleep(0)
                self.client.evict("x", lease.token)
                self.assertEqual(await asyncio.gather(*tasks), [True] * 3)
                self.assertTrue(await lease.lost)
                with self.assertRaises(holdfast.NotHeld):
                    await lease.release_async()
            self.assertFalse(await kept.lost)

        self.run_async(main())


if __name__ == "__main__":
    unittest.main()
