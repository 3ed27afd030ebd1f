"""A client that uses a new name for each lock makes neither the page nor the daemon's memory grow without bound."""

from __future__ import annotations

import contextlib
import re
import threading
import unittest

from services import Daemon, Redis, temporary_directory

NAMES = 100_000
THREADS = 4


class NamesTest(unittest.TestCase):
    def take_and_release(self, first: int, count: int) -> None:
        """Over one connection each."""

        def take(part: int) -> None:
            with contextlib.closing(self.daemon.connection()) as connection:
                for number in range(first + part, first + count, THREADS):
                    status, lease = self.daemon.acquire(f"name-{number:07}", connection, ttl_ms=60_000)
                    if status != 200 or self.daemon.release(lease, connection) != 200:
                        self.failed.append(number)
                        return

        threads = [threading.Thread(target=take, args=(part,)) for part in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.failed, [])

    def resident(self) -> int:
        found = re.search(r"^process_resident_memory_bytes (\S+)", self.daemon.page(), re.MULTILINE)
        assert found
        return int(float(found[1]))

    def test_a_hundred_thousand_names(self) -> None:
        self.failed: list[int] = []
        with temporary_directory() as directory, Redis(directory) as redis, Daemon(redis.url, directory) as self.daemon:
            # The history remembers the last 20,000 events.
            warm_up = NAMES * 3 // 10
            self.take_and_release(0, warm_up)
            page, memory = len(self.daemon.page()), self.resident()
            self.take_and_release(warm_up, NAMES - warm_up)
            self.assertLess(len(self.daemon.page()), page + 2000)  # longer numbers
            self.assertLess(self.resident(), memory * 1.3)
            names = set(re.findall(r'name="([^"]*)"', self.daemon.page()))
            self.assertIn("(other)", names)
            self.assertLessEqual(len(names), 101)


if __name__ == "__main__":
    unittest.main()
