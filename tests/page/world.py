"""Real daemons, and programs that hold locks and wait for them, for the tests of the page and its pictures."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from typing import Any
from urllib.parse import quote, urlsplit

from browser import await_condition

COMMAND = os.path.abspath(os.environ.get("HOLDFAST_COMMAND", "build/release/cli/holdfast"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Daemon:
    """`holdfast serve` on these engines (NAME=URL), on a port that stays the same over restarts."""

    def __init__(self, engines: list[str], *options: str, token: str = "") -> None:
        self.words = [COMMAND, *(f"--on={engine}" for engine in engines), "serve", *options]
        self.token = token
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen([*self.words, f"--listen=127.0.0.1:{self.port}"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert "http://" in line, f"the daemon did not start: {line}"
        self.url = line.split(" on ")[-1].strip() + "/"
        self.port = urlsplit(self.url).port or 0

    def stop(self, how: int = signal.SIGTERM) -> None:
        if not self.process:
            return
        self.process.send_signal(how)
        self.process.wait(20)
        assert self.process.stdout
        self.process.stdout.close()
        self.process = None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        return self.ask_all([(method, path, body)])[0]

    def ask_all(self, requests: list[tuple[str, str, Any]]) -> list[Any]:
        """Over one connection; every answer must be a success."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        answers = []
        for method, path, body in requests:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {**headers, **({"Content-Type": "application/json"} if data else {})})
            response = connection.getresponse()
            text = response.read()
            assert response.status < 300, f"{method} {path}: {response.status} {text[:500]!r}"
            answers.append(json.loads(text))
        connection.close()
        return answers

    def acquire(self, name: str | bytes, engine: str, **fields: Any) -> Any:
        return self.ask("POST", f"/v1/locks/{quote(name, safe='')}?engine={engine}", fields)

    def release(self, lease: Any) -> None:
        self.ask("POST", "/v1/release", {"lease": lease["lease"]})


class World:
    """Programs at locks, and a directory; close() ends and removes all of it."""

    def __init__(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="holdfast-page-")
        self.programs: list[subprocess.Popen[bytes]] = []
        self.daemons: list[Daemon] = []

    def daemon(self, engines: list[str], *options: str, token: str = "") -> Daemon:
        if token:
            path = os.path.join(self.directory, "token")
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
                file.write(token + "\n")
            options = (*options, f"--token-file={path}")
        self.daemons.append(Daemon(engines, *options, token=token))
        return self.daemons[-1]

    def sqlite(self, name: str = "locks") -> str:
        return f"sqlite://{self.directory}/{name}.db"

    def start(self, url: str, *words: str) -> subprocess.Popen[bytes]:
        """`holdfast --on URL WORDS`; its standard input is a pipe, so that `cat` lasts until finish()."""
        environment = {key: value for key, value in os.environ.items() if key != "HOLDFAST_OWNER"}
        program = subprocess.Popen([COMMAND, f"--on={url}", *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=self.directory, env=environment)
        self.programs.append(program)
        return program

    def run(self, url: str, name: str, label: str, *options: str) -> subprocess.Popen[bytes]:
        """Holds `name`, or waits for it, until finish()."""
        return self.start(url, "run", name, f"--label={label}", "--quiet", *options, "--", "cat")

    def finish(self, program: subprocess.Popen[bytes]) -> None:
        assert program.stdin
        program.stdin.close()
        program.wait(30)
        self.programs.remove(program)

    def stop(self, program: subprocess.Popen[bytes]) -> None:
        """Ends a program that waits, too."""
        program.terminate()
        self.finish(program)

    def close(self) -> None:
        for program in self.programs:
            program.terminate()
        for program in self.programs:
            assert program.stdin
            program.stdin.close()
            program.wait(30)
        for daemon in self.daemons:
            daemon.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def await_lock(daemon: Daemon, engine: str, name: str, holders: int, waiters: int = 0) -> Any:
    """The lock as the daemon lists it, once it has so many holders and waiters."""
    found: list[Any] = []

    def there() -> bool:
        lock = daemon.ask("GET", f"/v1/locks/{quote(name, safe='')}?engine={engine}")
        found[:] = [lock]
        return len(lock["holders"]) == holders and len(lock["waiters"]) == waiters

    await_condition(there, f"{holders} holders and {waiters} waiters of {name}")
    return found[0]
