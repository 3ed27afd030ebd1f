"""A real Prometheus scrapes a daemon and a program of the library while their locks are fought for, broken, in a
deadlock, and without a server for a while; then it is asked all that the dashboard, the alerts and the page ask."""

from __future__ import annotations

import contextlib
import http.client
import signal
import subprocess
import threading
import time
import unittest
from typing import Any

from documents import PAGE, alert_queries, metrics_in, metrics_on, page_queries, panel_queries
from services import Daemon, Program, Prometheus, Redis, temporary_directory, until

# Nothing in the traffic leads to them: they need not return data.
MAY_BE_EMPTY = ("holdfast_server_errors_total",)


class Traffic:
    """HTTP clients of the daemon: two that share a lock, and one that is refused. close() ends them."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.contend) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def contend(self) -> None:
        while not self.stopping.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                status, lease = self.daemon.acquire("over-http", ttl_ms=3000, wait_ms=2000)
                if status == 200:
                    time.sleep(0.03)
                    self.daemon.release(lease)
                else:
                    time.sleep(0.1)
                self.daemon.ask("GET", "/v1/nothing")

    def close(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()


class PrometheusTest(unittest.TestCase):
    def setUp(self) -> None:
        with contextlib.ExitStack() as opened:
            directory = opened.enter_context(temporary_directory())
            self.redis: Redis = opened.enter_context(Redis(directory))
            self.daemon: Daemon = opened.enter_context(Daemon(self.redis.url, directory))
            self.program: Program = opened.enter_context(Program(self.redis.url))
            self.prometheus: Prometheus = opened.enter_context(Prometheus(directory, self.daemon, self.program))
            traffic = Traffic(self.daemon)
            opened.callback(traffic.close)
            self.addCleanup(opened.pop_all().close)

    def await_value(self, expression: str, least: float) -> None:
        until(lambda: self.prometheus.value(expression) >= least, f"{expression} >= {least}")

    def break_a_lock(self) -> None:
        def broken() -> bool:
            _, lock = self.daemon.ask("GET", "/v1/locks/kept")
            holders = lock.get("holders", [])
            fields = {"token": holders[0]["token"], "reason": "a test"} if holders else {}
            return bool(holders) and self.daemon.ask("POST", "/v1/locks/kept/break", fields)[0] == 200

        until(broken, "the lock of the program is broken")
        self.await_value('sum(holdfast_losses_total{job="program",name="kept"})', 1)
        # It is held again, and renewed: without a lease no renewal would fail when the server is gone.
        renewed = 'sum(holdfast_renewals_total{job="program",name="kept",outcome="renewed"})'
        self.await_value(renewed, self.prometheus.value(renewed) + 5)

    def deadlock(self) -> None:
        """Two owners, each with a lock that the other one waits for."""
        waits: list[threading.Thread] = []
        leases: list[Any] = []

        def wait(owner: str, name: str) -> None:
            status, lease = self.daemon.acquire(name, owner=owner, ttl_ms=120_000, wait_ms=300_000)
            if status == 200:
                self.daemon.release(lease)

        for owner, name in (("left", "one"), ("right", "two")):
            status, lease = self.daemon.acquire(name, owner=owner, ttl_ms=300_000)
            self.assertEqual(status, 200, lease)
            leases.append(lease)
        for owner, name in (("left", "two"), ("right", "one")):
            waits.append(threading.Thread(target=wait, args=(owner, name)))
            waits[-1].start()
        try:
            self.await_value('holdfast_deadlocks{certain="true"}', 1)
            self.assert_alert_has_data("HoldfastDeadlock")
        finally:
            for lease in leases:
                self.daemon.release(lease)
            for thread in waits:
                thread.join()

    def lose_the_server(self) -> None:
        self.redis.stop(signal.SIGKILL)
        until(lambda: self.prometheus.value("holdfast_engine_up") == 0, "the daemon sees that Redis is down")
        self.assert_alert_has_data("HoldfastEngineDown")
        self.await_value('sum(holdfast_renewals_total{job="program",outcome!="renewed"})', 1)
        self.await_value('sum(holdfast_retries_total{job="program"})', 1)
        self.redis.start()
        self.await_value("holdfast_engine_up", 1)

    def assert_alert_has_data(self, name: str) -> None:
        expression = next(query.expression for query in alert_queries() if query.where == f"alert {name}")
        until(lambda: self.prometheus.query(expression), f"{name} has data")

    def assert_answered(self) -> None:
        """Every query parses, and returns something where the traffic made sure that there is something."""
        for query in alert_queries():
            self.prometheus.query(query.expression)
        self.assert_alert_has_data("HoldfastLeaseLost")
        for query in [*panel_queries(), *page_queries()]:
            if any(metric in query.expression for metric in MAY_BE_EMPTY):
                self.prometheus.query(query.expression)
            else:
                until(lambda: self.prometheus.query(query.expression), f"{query.where} has data: {query.expression}")

    def assert_known(self) -> None:
        exposed = metrics_on(self.daemon.page()) | metrics_on(self.program.page())
        for query in [*panel_queries(), *page_queries(), *alert_queries()]:
            self.assertEqual(metrics_in(query.expression) - exposed, set(), query.where)
        documented = {name for line in PAGE.splitlines() if line.startswith("| `") for name in metrics_in(line)}
        self.assertEqual(documented, exposed)

    def assert_well_formed(self, page: str) -> None:
        done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    def test_everything_that_the_documents_ask_is_answered(self) -> None:
        for job in ("holdfast", "program"):
            self.await_value(f'up{{job="{job}"}}', 1)
        self.deadlock()
        self.break_a_lock()
        self.lose_the_server()
        self.await_value('sum(holdfast_connection_events_total{job="program",event="reconnected"})', 1)
        self.assert_answered()
        self.assert_known()
        self.assert_well_formed(self.daemon.page())
        self.assert_well_formed(self.program.page())


if __name__ == "__main__":
    unittest.main()
