"""The programs of examples/http, each against a real daemon: copies of one contend and never overlap; one that is killed
makes room for the next; an answer that is lost takes nothing twice; and a holder whose lock is broken is told, stops, and
is refused by the fence."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from typing import Any

from daemon import Daemon, await_condition, temporary_directory

EXAMPLES = Path(__file__).parents[2] / "examples" / "http"
BEGUN_AND_ENDED = 'echo begin $$ $HOLDFAST_TOKEN >>"$0"; sleep 0.05; echo end $$ $HOLDFAST_TOKEN >>"$0"'
FOREVER = 'echo begin $$ $HOLDFAST_TOKEN >>"$0"; exec sleep 600'


def program(name: str) -> str:
    """Debian's own: another may come first in PATH."""
    path = f"/usr/bin/{name}"
    assert os.path.exists(path), f"{path} is missing (scripts/test installs it)"
    return path


class ExampleCase(unittest.TestCase):
    words: list[str]  # of the program; NAME, LOG and ROUNDS follow

    def setUp(self) -> None:
        self.directory = temporary_directory(self)
        self.log = Path(self.directory, "log")
        self.log.touch()
        self.daemon = Daemon({"sqlite": f"sqlite://{self.directory}/locks.db"})
        self.addCleanup(self.daemon.close)

    def start(self, *arguments: str, url: str | None = None, name: str = "shared/lock") -> subprocess.Popen[bytes]:
        words = [*self.words, name, *arguments]
        environment = {**os.environ, "HOLDFAST_HTTP": url or self.daemon.url}
        process = subprocess.Popen(words, env=environment, start_new_session=True)
        self.addCleanup(self.kill, process)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """With all that it has started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def stop_inside(self, process: subprocess.Popen[bytes]) -> None:
        """The process, with all that it has started, is stopped while it holds the lock."""

        def stopped() -> bool:
            os.killpg(process.pid, signal.SIGSTOP)
            await_condition(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
            if self.is_inside():
                return True
            os.killpg(process.pid, signal.SIGCONT)
            return False

        await_condition(stopped)

    def is_inside(self) -> bool:
        lines = self.lines()
        return bool(lines) and lines[-1][0] == "begin"

    def await_waiter(self, process: subprocess.Popen[bytes]) -> None:
        await_condition(lambda: process.poll() is not None or any(lock["waiters"] for lock in self.daemon.get("/v1/locks")["locks"]))

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.log.read_text().splitlines()]

    def await_free(self) -> None:
        await_condition(lambda: not self.daemon.get("/v1/locks")["locks"])

    def check_turns(self, rounds: int) -> None:
        lines = self.lines()
        self.assertEqual(len(lines), 2 * rounds)
        tokens = []
        for begin, end in zip(lines[::2], lines[1::2]):
            self.assertEqual((begin[0], end[0]), ("begin", "end"), lines)
            self.assertEqual(begin[1:], end[1:], "two were inside at once")
            tokens.append(int(begin[2]))
        self.assertEqual(tokens, sorted(set(tokens)))


class Deaf:
    """Passes one connection after the other on to the daemon, and loses its answer to the first request to take a lock."""

    def __init__(self, place: str) -> None:
        host, port = place.split(":")
        self.target = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lost = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self.target) as daemon:
            try:
                while request := client.recv(65536):
                    daemon.sendall(request)
                    answer = daemon.recv(65536)
                    if self.lost == 0 and b"valid_from_send_ms" in answer:
                        self.lost = 1
                        return  # granted, and nobody hears of it
                    client.sendall(answer)
            except OSError:
                pass

    def close(self) -> None:
        self.listener.close()


class LogCase(ExampleCase):
    """Of programs that write begin and end into a log."""

    def start_rounds(self, rounds: int, **how: Any) -> subprocess.Popen[bytes]:
        return self.start(str(self.log), str(rounds), **how)

    def start_forever(self) -> subprocess.Popen[bytes]:
        return self.start_rounds(1 << 30)

    def test_copies_take_turns(self) -> None:
        copies = [self.start_rounds(8) for _ in range(3)]
        for copy in copies:
            self.assertEqual(copy.wait(timeout=100), 0)
        self.check_turns(24)
        self.await_free()

    def test_one_that_is_killed_makes_room(self) -> None:
        first = self.start_forever()
        self.stop_inside(first)
        second = self.start_rounds(1)
        self.await_waiter(second)
        self.kill(first)
        self.assertEqual(second.wait(timeout=100), 0)
        begin, end = self.lines()[-2:]
        self.assertEqual((begin[0], end[0]), ("begin", "end"))
        self.check_later(self.lines()[-3], end)
        self.await_free()

    def check_later(self, one: list[str], other: list[str]) -> None:
        self.assertGreater(int(other[2]), int(one[2]))


class LostAnswerCase(LogCase):
    """Of programs that send an Idempotency-Key."""

    def test_a_lost_answer_takes_nothing_twice(self) -> None:
        deaf = Deaf(self.daemon.place)
        self.addCleanup(deaf.close)
        self.assertEqual(self.start_rounds(1, url=deaf.url).wait(timeout=100), 0)
        self.assertEqual(deaf.lost, 1)
        self.check_turns(1)
        granted = [event for event in self.daemon.get("/v1/history")["events"] if event["kind"] == "granted"]
        self.assertEqual([event["token"] for event in granted], [int(self.lines()[0][2])])
        self.await_free()


class GoTest(LostAnswerCase):
    @classmethod
    def setUpClass(cls) -> None:
        directory = temporary_directory(cls)
        cls.words = [directory + "/worker"]
        go = {**os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOCACHE": directory + "/cache",
              "GOPATH": directory + "/path", "HOME": directory}
        go.pop("GOROOT", None)
        subprocess.run([program("go"), "build", "-o", cls.words[0], str(EXAMPLES / "worker.go")], env=go, check=True)


class JavaScriptTest(LostAnswerCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.words = [program("node"), str(EXAMPLES / "worker.mjs")]


class ShellCase(LogCase):
    def start(self, *arguments: str, **how: Any) -> subprocess.Popen[bytes]:
        return super().start(*arguments, name="shared%2Flock", **how)

    def start_rounds(self, rounds: int, **how: Any) -> subprocess.Popen[bytes]:
        return self.start("sh", "-c", BEGUN_AND_ENDED, str(self.log), **how)

    def start_forever(self) -> subprocess.Popen[bytes]:
        return self.start("sh", "-c", FOREVER, str(self.log))

    def test_copies_take_turns(self) -> None:
        copies = [self.start_rounds(1) for _ in range(6)]
        for copy in copies:
            self.assertEqual(copy.wait(timeout=100), 0)
        self.assert_turns(6)
        self.await_free()

    def assert_turns(self, rounds: int) -> None:
        self.check_turns(rounds)

    def test_the_job_is_ended_if_the_lock_is_lost_and_its_status_is_told(self) -> None:
        holder = self.start_forever()
        await_condition(self.lines)
        lock = self.daemon.get("/v1/locks")["locks"][0]
        answer = self.daemon.post(f"/v1/locks/{lock['path']}/break", {"token": lock["holders"][0]["token"], "reason": "test"})
        self.assertEqual(answer.status, 200)
        self.assertEqual(holder.wait(timeout=60), 128 + signal.SIGTERM)
        self.await_free()


class CurlRenewedTest(ShellCase, LostAnswerCase):
    words = [program("sh"), str(EXAMPLES / "nightly.sh")]


class CurlHeldTest(ShellCase):
    words = [program("bash"), str(EXAMPLES / "hold.sh")]

    def assert_turns(self, rounds: int) -> None:
        lines = self.lines()  # the token is in the event, which it does not read
        self.assertEqual(len(lines), 2 * rounds)
        for begin, end in zip(lines[::2], lines[1::2]):
            self.assertEqual((begin[0], end[0], begin[1]), ("begin", "end", end[1]), "two were inside at once")

    def check_later(self, one: list[str], other: list[str]) -> None:
        self.assertNotEqual(one[1], other[1])


class PythonTest(ExampleCase):
    words = [sys.executable, "-W", "error", str(EXAMPLES / "worker.py")]

    def setUp(self) -> None:
        super().setUp()
        self.ledger = self.directory + "/ledger.db"
        os.environ["HOLDFAST_HTTP"] = self.daemon.url
        described = importlib.util.spec_from_file_location("worker", EXAMPLES / "worker.py")
        assert described and described.loader
        self.worker = importlib.util.module_from_spec(described)
        described.loader.exec_module(self.worker)

    def is_inside(self) -> bool:
        """At its work: not in a transaction, which would keep the next one out of the ledger."""
        ledger = sqlite3.connect(self.ledger, timeout=0, isolation_level=None)
        try:
            ledger.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        finally:
            ledger.close()
        return any(lock["holders"] for lock in self.daemon.get("/v1/locks")["locks"])

    def test_needs_nothing_but_the_standard_library(self) -> None:
        isolated = subprocess.run([sys.executable, "-I", "-S", str(EXAMPLES / "worker.py"), "x", self.ledger, "1"],
                                  env={"HOLDFAST_HTTP": self.daemon.url}, timeout=60)
        self.assertEqual(isolated.returncode, 0)

    def test_copies_take_turns(self) -> None:
        copies = [self.start(self.ledger, "8") for _ in range(3)]
        for copy in copies:
            self.assertEqual(copy.wait(timeout=100), 0)
        lock = self.worker.Lock("shared/lock")
        self.assertEqual(self.worker.Ledger(self.ledger).read(lock.token), 24)
        lock.release()
        self.await_free()

    def test_one_that_is_killed_makes_room_at_once(self) -> None:
        first = self.start(self.ledger, str(1 << 30))
        self.stop_inside(first)
        second = self.start(self.ledger, "1")
        self.await_waiter(second)
        self.kill(first)
        self.assertEqual(second.wait(timeout=100), 0)
        self.await_free()

    def test_a_holder_whose_lock_is_broken_is_told_stops_and_is_refused_by_the_fence(self) -> None:
        ledger = self.worker.Ledger(self.ledger)
        late = self.worker.Lock("ledger")
        total = ledger.read(late.token)
        self.assertTrue(late.held())
        valid_until = late.valid_until

        answer = self.daemon.post("/v1/locks/ledger/break", {"token": late.token, "reason": "it takes too long"})
        self.assertEqual(answer.status, 200, answer)
        successor = self.worker.Lock("ledger")  # gets in at once
        self.assertGreater(successor.token, late.token)

        self.assertTrue(late.lost.wait(60), "nobody told the holder")
        self.assertLess(self.worker.now(), valid_until, "the holder was not told in time")
        self.assertFalse(late.held())

        # Its next write is on its way already: nobody can call it back, but the ledger refuses it.
        self.assertEqual(ledger.read(successor.token), total)
        with self.assertRaisesRegex(PermissionError, "stale"):
            ledger.write(late.token, total + 1)
        with self.assertRaisesRegex(PermissionError, "stale"):
            ledger.read(late.token)
        self.assertEqual(ledger.write(successor.token, total + 10), total + 10)
        self.assertTrue(successor.held())
        for lock in (late, successor):
            lock.release()
        ledger.db.close()
        self.await_free()

    def test_silence_counts_as_loss_when_the_time_is_over(self) -> None:
        lock = self.worker.Lock("quiet", ttl_ms=4000)
        os.kill(self.daemon.process.pid, signal.SIGSTOP)
        try:
            self.assertTrue(lock.lost.wait(60))
            self.assertFalse(lock.held())
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        lock.release()


del ExampleCase, LogCase, LostAnswerCase, ShellCase  # no tests by themselves

if __name__ == "__main__":
    unittest.main(verbosity=2)
