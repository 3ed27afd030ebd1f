"""A real `holdfast serve` on a free port, and plain HTTP to it: the bytes of a request as they are written here."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterator, NamedTuple

COMMAND = os.environ["HOLDFAST_COMMAND"]
# The last argument of a test's program, if it was started by with_server.
SERVER_URL = sys.argv.pop() if len(sys.argv) > 1 and "://" in sys.argv[-1] else None


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0]

    def json(self) -> Any:
        return json.loads(self.body)


def answer_of(response: http.client.HTTPResponse) -> Answer:
    return Answer(response.status, {key.lower(): value for key, value in response.getheaders()}, response.read())


class Daemon:
    """Serves the engines {name: URL}, and is stopped by close()."""

    def __init__(self, engines: dict[str, str], *options: str) -> None:
        words = [COMMAND, "--json", "serve", "--listen", "127.0.0.1:0", *options]
        for name, url in engines.items():
            words += ["--on", f"{name}={url}"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        told = ""
        for line in self.process.stdout:
            told += line
            if line == "}\n":
                break
        assert told, f"the daemon did not start: {' '.join(words)}"
        self.url: str = json.loads(told)["listening"]
        self.place = self.url.removeprefix("http://")
        self.connection = http.client.HTTPConnection(self.place, timeout=60)

    def close(self) -> None:
        self.connection.close()
        self.end(signal.SIGTERM)

    def end(self, by: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(by)
        self.process.wait(timeout=30)
        if self.process.stdout:
            self.process.stdout.close()

    def ask(self, method: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        """The answer to one request, over a connection that is kept."""
        given = dict(headers or {})
        if body is not None:
            given.setdefault("Content-Type", "application/json")
        self.connection.request(method, target, body, given)
        response = self.connection.getresponse()
        answer = answer_of(response)
        if response.will_close:
            self.connection.close()
        return answer

    def post(self, target: str, fields: Any, **headers: str) -> Answer:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return self.ask("POST", target, json.dumps(fields).encode(), named)

    def get(self, target: str) -> Any:
        answer = self.ask("GET", target)
        assert answer.status == 200, answer
        return answer.json()


class Event(NamedTuple):
    kind: str
    data: Any


class Stream:
    """A stream of events, on a connection of its own. Closed when its block ends."""

    def __init__(self, daemon: Daemon, method: str, target: str, body: bytes | None = None,
                 headers: dict[str, str] | None = None) -> None:
        self.connection = http.client.HTTPConnection(daemon.place, timeout=60)
        self.connection.request(method, target, body, headers or {})
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self.connection.close()

    def answer(self) -> Answer:
        """All of it, if it is no stream."""
        return answer_of(self.response)

    def events(self) -> Iterator[Event]:
        kind = ""
        while line := self.response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                yield Event(kind, json.loads(value))

    def await_event(self, kind: str) -> Any:
        for event in self.events():
            if event.kind == kind:
                return event.data
        raise AssertionError(f"the stream ended without {kind}")


def await_condition(condition: Callable[[], Any], seconds: float = 40) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.02)
    return found


def temporary_directory(case: Any) -> str:
    directory = tempfile.mkdtemp(prefix="holdfast-http-")
    add_cleanup = case.addClassCleanup if isinstance(case, type) else case.addCleanup
    add_cleanup(shutil.rmtree, directory, True)
    return directory
