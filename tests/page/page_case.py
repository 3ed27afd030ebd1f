"""What the tests of the page share: a daemon of their own, the page in a browser, what holds whatever is done."""

from __future__ import annotations

import json
import unittest
from typing import Any, ClassVar

from browser import Browser, await_condition
from world import Daemon, World

NAMES = "[...document.querySelectorAll('#rows button.name')].map((each) => each.textContent)"
ROW = "[...document.querySelectorAll('#rows tr')].find((row) => row.querySelector('button.name').textContent === arguments[0])"


class PageCase(unittest.TestCase):
    browser: ClassVar[Browser]
    # Console messages that a test brings about on purpose have one of these in them.
    expected_errors: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self) -> None:
        self.world = World()
        self.addCleanup(self.world.close)
        self.browser.resize(1280, 900)
        self.browser.scheme("light")
        self.browser.log("browser")
        self.browser.log("performance")
        self.origins: set[str] = set()

    def tearDown(self) -> None:
        self.assert_quiet()
        self.assert_stays_home()
        self.browser.go("about:blank")

    def open(self, daemon: Daemon, await_live: bool = True) -> None:
        self.origins.add(daemon.url.rstrip("/"))
        self.browser.go(daemon.url)
        if await_live:
            self.await_state("Live")

    def open_one(self, *options: str) -> Daemon:
        """A daemon on one SQLite, called "local", and the page."""
        daemon = self.world.daemon([f"local={self.world.sqlite()}"], *options)
        self.open(daemon)
        return daemon

    def await_state(self, text: str) -> None:
        self.browser.await_true("document.getElementById('state-text').textContent === arguments[0]", text)

    def names(self) -> list[str]:
        return list(self.browser.run(f"return {NAMES}"))

    def await_names(self, *names: str) -> None:
        await_condition(lambda: self.names() == list(names), f"the rows {names}, not {self.names()}")

    def await_row(self, name: str, *texts: str) -> None:
        """A row of this name, with all these texts in it."""
        self.browser.await_true(f"((row) => row && arguments[1].every((text) => row.innerText.includes(text)))({ROW})",
                                name, list(texts))

    def open_lock(self, name: str) -> None:
        self.browser.await_true(ROW, name)
        self.browser.run(f"{ROW}.querySelector('button.name').click()", name)
        self.browser.await_true("document.getElementById('detail').open")

    def assert_fits(self, width: int) -> None:
        self.browser.resize(width, 900)
        wide = self.browser.run("""
          const most = document.documentElement.clientWidth;
          return [document.documentElement.scrollWidth, most,
            [...document.querySelectorAll('#rows tr, .tools, .card, dialog[open], .deadlock')]
              .filter((each) => each.scrollWidth > Math.max(each.clientWidth, 1) + 1).map((each) => each.outerHTML.slice(0, 200))]""")
        self.assertLessEqual(wide[0], wide[1], f"the page is wider than a window of {width} px")
        self.assertEqual(wide[2], [], f"cut at {width} px")

    def assert_quiet(self) -> None:
        """Nothing on the console: no error, no breach of the Content-Security-Policy, no script of a stranger."""
        messages = [entry["message"] for entry in self.browser.log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual([each for each in messages if not any(known in each for known in self.expected_errors)], [])

    def assert_stays_home(self) -> None:
        """Every request of the tab went to a daemon of this test."""
        for entry in self.browser.log("performance"):
            message: dict[str, Any] = json.loads(entry["message"])["message"]
            if message["method"] != "Network.requestWillBeSent":
                continue
            url = message["params"]["request"]["url"]
            if not url.startswith(("data:", "about:")):
                self.assertIn("/".join(url.split("/")[:3]), self.origins, url)
