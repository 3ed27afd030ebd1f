"""Names, labels and reasons of strangers: nothing of them runs, hides, reorders, or breaks the layout."""

from __future__ import annotations

import unittest
from urllib.parse import quote

from page_case import PageCase
from world import Daemon, await_lock

MARKUP = "<img src=x onerror=window.hit=1>"
# Names, and how they are shown.
PLAIN = [
    "<script>window.hit=1</script>", MARKUP, "\"><svg onload=window.hit=1>", "'-window.hit=1-'", "{{constructor}}", "${window.hit=1}",
    "javascript:window.hit=1", "&lt;b&gt;&#x202e;", "</title><script>window.hit=1</script>", "a/b?c=d&e#f%2F%00", "..", ".", "/", " ",
    "%2e%2e", "data: x", "__proto__", "constructor", "h\u00e9\u20ac\U0001F512", "\u05e9\u05dc\u05d5\u05dd", "a" * 600, "w o r d s " * 60,
]
SPELLED = {
    "bidi\u202egpj.exe": "bidi\\u{202E}gpj.exe", "isolate\u2066x\u2069": "isolate\\u{2066}x\\u{2069}",
    "zero\u200bwidth\u200d\ufeff": "zero\\u{200B}width\\u{200D}\\u{FEFF}", "line\u2028separator": "line\\u{2028}separator",
    "tag\U000E0041": "tag\\u{E0041}", "\x1b]0;title\x07": "\\u{1B}]0;title\\u{7}", "nul\0nul": "nul\\u{0}nul",
    "line\nevent: hello\ndata: {}\n\n": "line\\u{A}event: hello\\u{A}data: {}\\u{A}\\u{A}", "tab\there": "tab\\u{9}here",
}
BYTES = [b"\xff\xfe\x80", b"cut\xe2\x82", b"sur\xed\xa0\x80rogate", b"z" * 16384, b"\xc3\x97" * 8192]


class HostileTest(PageCase):
    def setUp(self) -> None:
        super().setUp()
        self.daemon: Daemon = self.open_one()
        self.planted = [each.encode() for each in [*PLAIN, *SPELLED]] + BYTES
        path = "/v1/locks/{}?engine=local"
        labels = [*PLAIN, *SPELLED]
        self.daemon.ask_all([("POST", path.format(self.encoded(name)), {"ttl_ms": 600000, "label": labels[index % len(labels)][:200]})
                             for index, name in enumerate(self.planted)])
        self.browser.await_true("document.querySelectorAll('#rows tr').length === arguments[0]", len(self.planted))

    @staticmethod
    def encoded(name: bytes) -> str:
        return "".join(f"%{byte:02X}" for byte in name) if name in (b".", b"..") else quote(name, safe="")

    def assert_harmless(self) -> None:
        self.assertIsNone(self.browser.run("return window.hit ?? null"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('script, img').length"), 2, "the page's own")
        # What is invisible, or moves text, is nowhere in what is shown. (A soft line break is our own.)
        self.assertEqual(self.browser.run(r"return document.body.innerText.match(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu)"), None)

    def test_names_are_shown_as_text(self) -> None:
        names = self.names()
        self.assertEqual(len(names), len(set(names)), "two locks look alike")
        for name in [*PLAIN, *SPELLED.values()]:
            self.assertIn(name, names)
        self.assert_harmless()
        for width in (360, 768, 1280, 1920):
            self.assert_fits(width)

    def test_each_can_be_opened_and_its_history_is_its_own(self) -> None:
        for width in (1280, 360):
            self.browser.resize(width, 900)
            for index in range(len(self.planted)):
                name = self.browser.run(f"const each = document.querySelectorAll('#rows button.name')[{index}]; each.click(); return each.textContent")
                self.browser.await_true("document.getElementById('detail-name').textContent === arguments[0]", name)
                self.browser.await_true("document.querySelectorAll('.events li').length === 1", name)
                overflow = self.browser.run("const each = document.getElementById('detail'); return [each.scrollWidth - each.clientWidth, each.querySelector('.danger').getBoundingClientRect().top]")
                self.assertLessEqual(overflow[0], 0, name[:100])
                self.assertLess(overflow[1], 600, "the name pushes the holder away")
                self.browser.click("#detail .close")
        self.assert_harmless()

    def test_breaking_reaches_the_lock_that_was_shown(self) -> None:
        for name in (PLAIN[0], PLAIN[9], "nul\0nul", "bidi\u202egpj.exe"):
            shown = SPELLED.get(name, name)
            self.open_lock(shown)
            self.browser.click(".holder-card .danger")
            self.browser.fill("#break-reason", f"{MARKUP} & \u202e\"quote")
            self.browser.click("#break .danger")
            self.browser.await_true("document.querySelector('#break .outcome').innerText.startsWith('Broken.')")
            self.browser.click("#break .buttons button")
            self.browser.await_true("document.querySelector('.events .reason')?.innerText.includes('onerror=window.hit')")
            self.browser.await_true("!document.querySelector('.holder-card')")
            self.assertEqual(self.daemon.ask("GET", f"/v1/locks/{quote(name, safe='')}")["holders"], [])
        self.assertEqual(len(self.daemon.ask("GET", "/v1/locks")["locks"]), len(self.planted) - 4)
        self.assert_harmless()

    def test_a_name_that_a_browser_cannot_ask_for_is_told(self) -> None:
        self.open_lock("..")
        self.browser.click(".holder-card .danger")
        self.browser.fill("#break-reason", "x")
        self.browser.click("#break .danger")
        self.browser.await_true("document.querySelector('#break .outcome').innerText.includes('A browser cannot ask for a lock with this name')")
        self.assertEqual(len(self.daemon.ask("GET", "/v1/locks")["locks"]), len(self.planted))

    def test_a_deadlock_of_strangers_is_drawn_as_text(self) -> None:
        url = self.world.sqlite()
        names = [MARKUP + "x" * 2000, "bidi\u202e" + "y" * 500]
        for number, name in enumerate(names):
            self.world.run(url, name, MARKUP + "label", f"--owner=job-{number}")
            await_lock(self.daemon, "local", name, 1)
        for number, name in enumerate(reversed(names)):
            self.world.run(url, name, MARKUP + "label", f"--owner=job-{number}")
        self.browser.await_true("!document.getElementById('deadlocks').hidden")
        self.assert_harmless()
        for width in (360, 768, 1280):
            self.assert_fits(width)


if __name__ == "__main__":
    unittest.main()
