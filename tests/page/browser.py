"""A real Chromium, driven by the WebDriver protocol with the standard library alone."""

from __future__ import annotations

import base64
import http.client
import json
import re
import shutil
import subprocess
import tempfile
import time
from typing import Any, Callable

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Down": "\ue015", "Up": "\ue013", "Space": " "}


class WebDriverError(Exception):
    pass


def await_condition(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"it did not come true within {seconds} s: {what}")
        time.sleep(0.05)


class Browser:
    """One Chromium with a profile of its own, and one tab. close() ends it."""

    def __init__(self, width: int = 1280, height: int = 900) -> None:
        self.profile = tempfile.mkdtemp(prefix="holdfast-chromium-")
        # Its choice of a port may be another's a moment later; then it ends.
        port = next(filter(None, (self.start_driver() for _ in range(5))), 0)
        assert port, "chromedriver did not start"
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        options = {"args": [*FLAGS, f"--user-data-dir={self.profile}"]}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = ""
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = f"/session/{answer['sessionId']}"
        self.resize(width, height)

    def start_driver(self) -> int:
        """Its port; 0 if it ended instead."""
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True)
        assert self.driver.stdout
        for line in self.driver.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                return int(found[1])
        self.driver.wait()
        self.driver.stdout.close()
        return 0

    def close(self) -> None:
        try:
            self.call("DELETE", "")
        except (WebDriverError, OSError, http.client.HTTPException):
            pass
        self.connection.close()
        self.driver.terminate()
        self.driver.wait(20)
        assert self.driver.stdout
        self.driver.stdout.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = json.dumps(body if body is not None else {}) if method == "POST" else None
        self.connection.request(method, self.session + path if self.session else path, data, {"Content-Type": "application/json"})
        value = json.loads(self.connection.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise WebDriverError(f"{path}: {value['error']}: {value['message'][:500]}")
        return value

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def resize(self, width: int, height: int) -> None:
        # Not the window, which has a smallest width, but what the page is told.
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, value: str) -> None:
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value},
                                                            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def go(self, url: str) -> None:
        self.call("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector: str) -> str:
        return str(self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT])

    def click(self, selector: str) -> None:
        self.call("POST", f"/element/{self.find(selector)}/click")

    def fill(self, selector: str, text: str) -> None:
        element = self.find(selector)
        self.call("POST", f"/element/{element}/clear")
        if text:
            self.call("POST", f"/element/{element}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Keys for whatever has the focus."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def log(self, kind: str) -> list[dict[str, Any]]:
        return list(self.call("POST", "/se/log", {"type": kind}))

    def await_true(self, script: str, *arguments: Any, seconds: float = 60) -> None:
        await_condition(lambda: bool(self.run(f"return {script}", *arguments)), script, seconds)

    def picture(self, path: str) -> None:
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))
