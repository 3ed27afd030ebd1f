"""Redis, the daemon, a program of the library, and a Prometheus that reads them: real ones, on free loopback ports."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Callable
from urllib.parse import quote

SOURCE = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("HOLDFAST_COMMAND", str(SOURCE / "build/release/cli/holdfast"))
PROGRAM = os.environ.get("HOLDFAST_METRICS_PROGRAM", str(SOURCE / "build/release/tests/metrics/metrics_program"))
TOKEN = "an-unlikely-token-of-a-test"
PATIENCE_S = 120.0  # other tests may take the machine


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_S) -> Any:
    """What the condition returns, once that is true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.1)
    return value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Process:
    """A child that runs inside `with`."""

    def __init__(self, words: list[str], **options: Any) -> None:
        self.words, self.options = words, options

    def start(self) -> None:
        """Returns when it answers."""
        self.child = subprocess.Popen(self.words, text=True, **self.options)
        try:
            until(self.ready, f"{self.words[0]} answers")
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def ready(self) -> bool:
        raise NotImplementedError

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.child.poll() is None:
            self.child.send_signal(how)
        try:
            self.child.wait(PATIENCE_S)
        finally:
            self.child.kill()
            for pipe in (self.child.stdin, self.child.stdout):
                if pipe:
                    pipe.close()

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Redis(Process):
    def __init__(self, directory: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        super().__init__(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                          "--dir", directory], stdout=subprocess.DEVNULL)

    def ready(self) -> bool:
        return answers(self.port)


class Program(Process):
    def __init__(self, url: str) -> None:
        super().__init__([PROGRAM, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ready(self) -> bool:
        assert self.child.stdout
        self.port = int(self.child.stdout.readline())
        return True

    def page(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()


class Daemon(Process):
    """With TLS and a token, as one that others reach."""

    def __init__(self, url: str, directory: str) -> None:
        self.directory = directory
        self.certificate, key, token_file = (f"{directory}/{name}" for name in ("cert.pem", "key.pem", "token"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", key, "-out", self.certificate], check=True, capture_output=True)
        Path(token_file).write_text(TOKEN + "\n", encoding="ascii")
        Path(token_file).chmod(0o600)  # one that everybody can read is refused
        self.port = free_port()
        super().__init__([COMMAND, f"--on=redis={url}", "serve", f"--listen=127.0.0.1:{self.port}",
                          f"--tls-cert={self.certificate}", f"--tls-key={key}", f"--token-file={token_file}"],
                         stdout=subprocess.DEVNULL)

    def ready(self) -> bool:
        return answers(self.port)

    def connection(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=self.certificate)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=1000, context=context)

    def ask(self, method: str, path: str, body: Any = None, connection: Any = None) -> tuple[int, Any]:
        own = connection or self.connection()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        own.request(method, path, None if body is None else json.dumps(body), headers)
        response = own.getresponse()
        text = response.read().decode()
        if not connection:
            own.close()
        kind = response.getheader("Content-Type", "")
        return response.status, json.loads(text) if "json" in kind else text

    def acquire(self, name: str, connection: Any = None, **fields: Any) -> tuple[int, Any]:
        return self.ask("POST", f"/v1/locks/{quote(name, safe='')}", fields, connection)

    def release(self, lease: Any, connection: Any = None) -> int:
        return self.ask("POST", "/v1/release", {"lease": lease["lease"]}, connection)[0]

    def page(self) -> str:
        return str(self.ask("GET", "/metrics")[1])


class Prometheus(Process):
    """Scrapes the daemon (job holdfast) and the program (job program) each second, and runs the alerts."""

    def __init__(self, directory: str, daemon: Daemon, program: Program) -> None:
        self.port = free_port()
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(SOURCE / "docs/metrics/alerts.yml")],
            "scrape_configs": [
                {"job_name": "holdfast", "static_configs": [{"targets": [f"127.0.0.1:{daemon.port}"]}],
                 "scheme": "https", "tls_config": {"ca_file": daemon.certificate},
                 "authorization": {"credentials_file": f"{daemon.directory}/token"}},
                {"job_name": "program", "static_configs": [{"targets": [f"127.0.0.1:{program.port}"]}]},
            ],
        }
        path = Path(directory) / "prometheus.yml"
        path.write_text(json.dumps(config), encoding="ascii")  # JSON is YAML
        self.log = open(f"{directory}/prometheus.log", "w+", encoding="utf-8")
        super().__init__(["prometheus", f"--config.file={path}", f"--storage.tsdb.path={directory}/tsdb",
                          f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)

    def stop(self, how: int = signal.SIGTERM) -> None:
        super().stop(how)
        self.log.close()

    def get(self, path: str) -> tuple[int, bytes]:
        assert self.child.poll() is None, "Prometheus has ended: " + Path(self.log.name).read_text(encoding="utf-8")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        except ConnectionRefusedError:
            return 0, b""
        finally:
            connection.close()

    def ready(self) -> bool:
        return self.get("/-/ready")[0] == 200

    def query(self, expression: str) -> list[Any]:
        """The series of an instant query; it must parse."""
        status, body = self.get("/api/v1/query?query=" + quote(expression, safe=""))
        answer = json.loads(body)
        assert status == 200 and answer["status"] == "success", f"{expression}: {answer.get('error')}"
        return list(answer["data"]["result"])

    def value(self, expression: str) -> float:
        """Of the only series; none: -1."""
        series = self.query(expression)
        return float(series[0]["value"][1]) if series else -1.0


def temporary_directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="holdfast-metrics-")
