"""Search, filters and order; the keyboard alone; nothing there."""

from __future__ import annotations

import unittest

from browser import await_condition
from page_case import PageCase
from world import Daemon, await_lock


class FindTest(PageCase):
    def setUp(self) -> None:
        super().setUp()
        self.daemon: Daemon = self.world.daemon([f"{name}={self.world.sqlite(name)}" for name in ("one", "two")])
        self.open(self.daemon)

    def populate(self) -> None:
        first = self.daemon.acquire("payments/refund", "one", ttl_ms=600000, label="Refund@web1")
        self.daemon.acquire("payments/capture", "two", ttl_ms=600000, label="capture@web2")
        self.daemon.acquire("catalog", "two", ttl_ms=600000, mode="shared", label="reader@web3")
        self.token = first["token"]
        for number in (1, 2):
            self.world.run(self.world.sqlite("two"), "payments/capture", f"waiter{number}@web9")
        await_lock(self.daemon, "two", "payments/capture", 1, 2)
        self.await_names("payments/capture", "catalog", "payments/refund")

    def search(self, words: str) -> None:
        self.browser.fill("#search", words)

    def choose(self, selector: str, value: str) -> None:
        self.browser.run("""const each = document.querySelector(arguments[0]); each.value = arguments[1];
          each.dispatchEvent(new Event('change', { bubbles: true }))""", selector, value)

    def test_search_finds_names_holders_waiters_and_tokens(self) -> None:
        self.populate()
        for words, names in (("refund", ["payments/refund"]), ("PAY capt", ["payments/capture"]), ("reader@", ["catalog"]),
                             ("waiter2@web9", ["payments/capture"]), (str(self.token), ["payments/refund"]), ("nowhere", [])):
            self.search(words)
            self.await_names(*names)
        self.assertIn("No lock matches", self.browser.text("#nothing"))
        self.assertEqual(self.browser.text("#count"), "0 of 3 locks")
        self.browser.await_true("document.getElementById('spoken').textContent === '0 locks found.'")
        self.search("")
        self.await_names("payments/capture", "catalog", "payments/refund")

    def test_filters_leave_what_matches_all_of_them(self) -> None:
        self.populate()
        self.choose("#engine", "two")
        self.await_names("payments/capture", "catalog")
        self.choose("#mode", "shared")
        self.await_names("catalog")
        self.choose("#mode", "")
        self.browser.click("#contended")
        self.await_names("payments/capture")
        self.choose("#engine", "one")
        self.await_names()
        self.browser.click("#contended")
        self.await_names("payments/refund")

    def test_expiring_are_those_that_nobody_renews(self) -> None:
        self.populate()
        self.daemon.acquire("abandoned", "one", ttl_ms=40000)
        self.browser.click("#expiring")
        self.await_names()
        self.await_names("abandoned")

    def test_headings_sort(self) -> None:
        self.populate()
        self.browser.click("#columns [data-sort=name] button")
        self.await_names("catalog", "payments/capture", "payments/refund")
        self.assertEqual(self.browser.run("return document.querySelector('[aria-sort]').dataset.sort"), "name")
        self.browser.click("#columns [data-sort=age] button")
        self.await_names("payments/refund", "payments/capture", "catalog")
        self.browser.click("#columns [data-sort=waiters] button")
        self.await_names("payments/capture", "catalog", "payments/refund")

    def test_nothing_locked_is_said(self) -> None:
        self.browser.await_true("document.getElementById('nothing').innerText === 'Nothing is locked now.'")
        for width in (360, 1280):
            self.assert_fits(width)

    def focused(self) -> str:
        return str(self.browser.run("const each = document.activeElement; return each.id || each.textContent"))

    def test_the_keyboard_alone_does_it_all(self) -> None:
        self.populate()
        for width in (1280, 600):  # beside the table, and over it
            self.browser.resize(width, 900)
            self.browser.run("document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0)")
            self.browser.go(self.daemon.url)
            self.await_state("Live")
            self.await_names("payments/capture", "catalog", "payments/refund")
            self.browser.press("Tab")
            self.assertIn("Skip to the locks", self.focused())
            self.browser.press("Enter", "Tab")
            self.assertEqual(self.focused(), "search")
            self.browser.press("c", "a", "t")
            self.await_names("catalog")
            self.tab_to("catalog")
            self.browser.press("Enter")
            self.browser.await_true("document.getElementById('detail').open")
            self.assertTrue(self.browser.run("return document.getElementById('detail').contains(document.activeElement)"))
            self.tab_to("Break")
            self.browser.press("Enter")
            self.browser.await_true("document.getElementById('break').open")
            self.assertEqual(self.focused(), "break-reason")
            self.browser.press("Escape")
            self.browser.await_true("!document.getElementById('break').open")
            self.assertIn("Break", self.focused())
            self.browser.press("Escape")
            self.browser.await_true("!document.getElementById('detail').open")
            self.assertEqual(self.focused(), "catalog")
            outline = self.browser.run("const style = getComputedStyle(document.activeElement); return [style.outlineStyle, parseFloat(style.outlineWidth)]")
            self.assertEqual(outline[0], "solid")
            self.assertGreaterEqual(outline[1], 2)

    def tab_to(self, text: str) -> None:
        for _ in range(20):
            self.browser.press("Tab")
            if text in self.focused():
                return
        self.fail(f"Tab does not lead to {text}; it is at {self.focused()}")

    def test_arrows_walk_the_rows_and_a_row_that_goes_passes_the_focus_on(self) -> None:
        self.populate()
        self.browser.run("document.querySelector('#rows button.name').focus()")
        self.browser.press("Down")
        self.assertEqual(self.focused(), "catalog")
        self.browser.press("Up")
        self.assertEqual(self.focused(), "payments/capture")
        self.search("")  # leaves the focus in the field
        lease = self.daemon.acquire("a-first", "one", ttl_ms=600000)
        self.await_names("payments/capture", "a-first", "catalog", "payments/refund")
        self.browser.run("document.querySelectorAll('#rows button.name')[1].focus()")
        self.daemon.release(lease)
        self.await_names("payments/capture", "catalog", "payments/refund")
        await_condition(lambda: self.focused() == "catalog", "the focus on the next row")


if __name__ == "__main__":
    unittest.main()
