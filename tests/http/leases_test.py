"""What docs/HTTP.md promises of leases: how long a client may count on one, and what is left of it when an answer, a
connection or the daemon is gone."""

from __future__ import annotations

import http.client
import json
import signal
import sqlite3
import threading
import time
import unittest
from typing import Any

from daemon import Daemon, Stream, await_condition, temporary_directory

JSON = {"Content-Type": "application/json"}
KEY = "a-key-that-was-drawn-at-random"


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class LeasesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.engines = {"sqlite": f"sqlite://{temporary_directory(self)}/locks.db"}
        self.daemon = self.another_daemon()

    def another_daemon(self) -> Daemon:
        daemon = Daemon(self.engines)
        self.addCleanup(daemon.close)
        return daemon

    def take(self, name: str, daemon: Daemon | None = None, key: str | None = None, **fields: Any) -> Any:
        headers = {"Idempotency_Key": key} if key else {}
        answer = (daemon or self.daemon).post(f"/v1/locks/{name}", fields, **headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def held(self, name: str) -> int:
        return len(self.daemon.get(f"/v1/locks/{name}")["holders"])

    def await_waiter(self, name: str) -> None:
        await_condition(lambda: self.daemon.get(f"/v1/locks/{name}")["waiters"])

    # ---- How long it is held ---------------------------------------------------------------------

    def test_nobody_gets_in_before_the_holder_counts_it_as_over(self) -> None:
        for _ in range(3):
            sent = now()
            lease = self.take("x", ttl_ms=1000)
            until = sent + lease["valid_from_send_ms"] / 1000
            self.check_next_comes_after("x", until)

    def check_next_comes_after(self, name: str, until: float) -> None:
        self.take(name, ttl_ms=50, wait_ms=30000)
        self.assertGreater(now(), until)
        await_condition(lambda: not self.held(name))

    def test_nor_if_it_was_renewed_by_this_daemon_or_another_one(self) -> None:
        for daemon in (self.daemon, self.another_daemon()):
            lease = self.take("x", ttl_ms=1000)
            sent = now()
            renewed = daemon.post("/v1/renew", {"lease": lease["lease"]}).json()
            self.check_next_comes_after("x", sent + renewed["valid_from_send_ms"] / 1000)

    def test_a_lease_that_is_renewed_through_another_daemon_outlives_what_the_first_one_knows(self) -> None:
        other = self.another_daemon()
        lease = self.take("x", ttl_ms=3000)
        for _ in range(8):
            time.sleep(0.5)
            self.assertEqual(other.post("/v1/renew", {"lease": lease["lease"]}).status, 200)
        self.assertEqual(self.daemon.post("/v1/renew", {"lease": lease["lease"]}).status, 200)
        self.assertEqual(self.daemon.post("/v1/release", {"lease": lease["lease"]}).status, 200)

    def test_a_lease_can_be_renewed_as_long_as_it_is_valid(self) -> None:
        sent = now()
        lease = self.take("x", ttl_ms=20000)
        until = sent + lease["valid_from_send_ms"] / 1000
        self.assertGreater(until - sent, 19)
        time.sleep(max(0, until - now() - 1))  # a tenth of the ttl would be 2 s
        answer = self.daemon.post("/v1/renew", {"lease": lease["lease"]})
        self.assertEqual(answer.status, 200, answer)

    def test_nobody_gets_in_while_a_client_that_is_cut_off_may_believe_that_it_holds(self) -> None:
        """The engine fails, so the lock is lost; the connection goes on, and its client goes by what it was told."""
        file = sqlite3.connect(self.engines["sqlite"].removeprefix("sqlite://"), timeout=30, isolation_level=None)
        self.addCleanup(file.close)
        ends = []
        sent = now()
        with Stream(self.daemon, "POST", "/v1/locks/x/hold", b'{"ttl_ms":8000}', JSON) as stream:
            for event in stream.events():
                if event.kind == "lost":
                    break
                ends.append(sent + event.data["valid_from_send_ms"] / 1000)
                if len(ends) == 1:
                    file.execute("BEGIN IMMEDIATE")  # nobody writes, nor renews
            file.execute("ROLLBACK")
            self.check_next_comes_after("x", max(ends))

    def test_what_is_left_after_a_long_wait_is_not_used_up_by_the_wait(self) -> None:
        first = self.take("x", ttl_ms=60000)
        got: list[tuple[float, float, Any]] = []

        def wait() -> None:
            connection = http.client.HTTPConnection(self.daemon.place, timeout=60)
            sent = now()
            connection.request("POST", "/v1/locks/x", json.dumps({"ttl_ms": 2000, "wait_ms": 60000}), JSON)
            lease = json.load(connection.getresponse())
            got.append((sent, now(), lease))
            connection.close()

        waiting = threading.Thread(target=wait)
        waiting.start()
        self.await_waiter("x")
        time.sleep(2.5)  # longer than the ttl
        self.daemon.post("/v1/release", {"lease": first["lease"]})
        waiting.join(60)
        sent, received, lease = got[0]
        self.assertGreater(lease["valid_from_send_ms"], 2500)
        self.assertLessEqual(lease["valid_for_ms"], 2000)
        self.assertLessEqual(sent + lease["valid_from_send_ms"] / 1000, received + 2)

    def test_a_stream_that_is_read_late_promises_nothing_that_is_over(self) -> None:
        sent = now()
        with Stream(self.daemon, "POST", "/v1/locks/x/hold", b'{"ttl_ms":1500}', JSON) as stream:
            events = stream.events()
            ends = [sent + next(events).data["valid_from_send_ms"] / 1000]
            time.sleep(3)  # several events come meanwhile, and wait to be read
            for _ in range(3):
                ends.append(sent + next(events).data["valid_from_send_ms"] / 1000)
            self.assertEqual(ends, sorted(ends))
            self.assertLess(ends[1], now(), "an old event was taken for a new one")

    # ---- Lost answers ----------------------------------------------------------------------------

    def test_a_repeated_key_gets_the_same_lease_and_another_request_is_told_from_it(self) -> None:
        first = self.take("x", key=KEY)
        again = self.take("x", key=KEY)
        self.assertEqual((first["lease"], first["token"]), (again["lease"], again["token"]))
        self.assertEqual(self.held("x"), 1)
        other = self.daemon.post("/v1/locks/y", {}, Idempotency_Key=KEY)
        self.assertEqual((other.status, other.json()["code"]), (422, "key_reused"))
        self.assertEqual(self.daemon.post("/v1/release", {"lease": first["lease"]}).status, 200)
        ended = self.daemon.post("/v1/locks/x", {}, Idempotency_Key=KEY)
        self.assertEqual((ended.status, ended.json()["code"]), (410, "not_held"))
        self.assertEqual(self.held("x"), 0)

    def test_permits_are_not_taken_twice_by_a_repeated_key(self) -> None:
        for _ in range(3):
            self.take("x", key=KEY, mode="permit", permits=5)
        self.assertEqual(self.held("x"), 1)

    def test_a_key_is_known_to_the_next_daemon_and_to_another_one(self) -> None:
        first = self.take("x", key=KEY, mode="permit", permits=5)
        same = self.take("x", self.another_daemon(), key=KEY, mode="permit", permits=5)
        self.assertEqual(same["token"], first["token"])
        self.daemon.end(signal.SIGKILL)
        self.daemon = self.another_daemon()
        self.assertEqual(self.take("x", key=KEY, mode="permit", permits=5)["token"], first["token"])
        self.assertEqual(self.held("x"), 1)

    def test_a_client_that_hangs_up_leaves_the_queue(self) -> None:
        first = self.take("x")
        for headers in ({}, {"Idempotency-Key": KEY}):
            connection = http.client.HTTPConnection(self.daemon.place)
            connection.request("POST", "/v1/locks/x", b'{"wait_ms":600000}', {**JSON, **headers})
            self.await_waiter("x")
            connection.close()
            await_condition(lambda: not self.daemon.get("/v1/locks/x")["waiters"])
        self.daemon.post("/v1/release", {"lease": first["lease"]})
        self.assertEqual(self.held("x"), 0)

    # ---- The daemon's end ------------------------------------------------------------------------

    def test_a_lease_is_renewed_and_released_through_the_next_daemon_or_another_one(self) -> None:
        for end in (signal.SIGKILL, signal.SIGTERM):
            lease = self.take("x", ttl_ms=60000)
            self.daemon.end(end)
            self.daemon = self.another_daemon()
            self.assertEqual(self.held("x"), 1)
            renewed = self.daemon.post("/v1/renew", {"lease": lease["lease"]})
            self.assertEqual((renewed.status, renewed.json()["token"]), (200, lease["token"]))
            self.assertEqual(self.another_daemon().post("/v1/release", {"lease": lease["lease"]}).status, 200)
            self.assertEqual(self.held("x"), 0)
            self.assertEqual(self.daemon.post("/v1/renew", {"lease": lease["lease"]}).status, 410)

    def test_a_lock_bound_to_a_connection_is_given_back_when_the_daemon_is_told_to_end(self) -> None:
        with Stream(self.daemon, "POST", "/v1/locks/x/hold", b'{"ttl_ms":60000}', JSON) as stream:
            stream.await_event("granted")
            self.daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual([event.kind for event in stream.events() if event.kind != "renewed"], [])
        self.daemon.end(signal.SIGTERM)
        self.daemon = self.another_daemon()
        await_condition(lambda: not self.held("x"))

    def test_but_a_client_that_does_not_hear_of_the_end_keeps_it_for_as_long_as_it_was_told(self) -> None:
        with Stream(self.daemon, "POST", "/v1/locks/x/hold", b'{"ttl_ms":60000}', JSON) as stream:
            stream.await_event("granted")
            self.daemon.end(signal.SIGTERM)
            self.daemon = self.another_daemon()
            self.assertEqual(self.held("x"), 1)

    def test_a_lock_bound_to_a_connection_ends_with_its_ttl_when_the_daemon_is_killed(self) -> None:
        with Stream(self.daemon, "POST", "/v1/locks/x/hold", b'{"ttl_ms":3000}', JSON) as stream:
            granted = stream.await_event("granted")
            self.daemon.end(signal.SIGKILL)
            self.daemon = self.another_daemon()
            self.assertGreater(self.take("x", wait_ms=60000)["token"], granted["token"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
