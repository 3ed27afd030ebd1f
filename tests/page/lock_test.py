"""The drill-down and breaking: what it asks before, what it says after, and what it refuses."""

from __future__ import annotations

import unittest

from browser import await_condition
from page_case import PageCase
from world import await_lock


class BreakTest(PageCase):
    # A refusal is a 409, which the console tells of.
    expected_errors = ("409 (Conflict)",)

    def ask_to_break(self, name: str) -> None:
        self.open_lock(name)
        self.browser.click(".holder-card .danger")
        self.browser.await_true("document.getElementById('break').open")

    def test_breaking_wants_a_reason_and_tells_it_in_the_history(self) -> None:
        daemon = self.open_one()
        self.world.run(self.world.sqlite(), "report", "hangs@web1")
        before = await_lock(daemon, "local", "report", 1)["holders"][0]["token"]
        self.ask_to_break("report")
        self.assertIn("hangs@web1", self.browser.text("#break"))
        self.assertIn(str(before), self.browser.text("#break"))
        self.browser.click("#break .danger")  # without a reason
        self.browser.fill("#break-reason", "   ")  # nor is this one
        self.browser.press("Enter")
        self.assertEqual(daemon.ask("GET", "/v1/locks/report")["holders"][0]["token"], before)
        self.assertNotIn("Broken", self.browser.text("#break"))
        self.browser.fill("#break-reason", "hangs since <b>noon</b>")
        self.browser.click("#break .danger")
        self.browser.await_true("document.querySelector('#break .outcome').innerText.startsWith('Broken.')")
        self.browser.press("Enter")  # "Close" has the focus
        self.browser.await_true("!document.getElementById('break').open")
        self.browser.await_true("document.querySelector('.events').innerText.includes('hangs since <b>noon</b>')")
        self.browser.await_true("document.querySelector('.timeline .hold.broken') && document.querySelector('.timeline .cross')")
        events = daemon.ask("GET", "/v1/history?engine=local&name=report")["events"]
        ends = [event["kind"] for event in events if event.get("token") == before and event["kind"] not in ("granted", "handed_over")]
        self.assertEqual(ends, ["broken"], "one end of a hold is told once")

    def test_breaking_an_older_hold_is_refused_in_words(self) -> None:
        daemon = self.open_one()
        lease = daemon.acquire("report", "local", ttl_ms=60000, label="first")
        self.ask_to_break("report")
        daemon.release(lease)
        second = daemon.acquire("report", "local", ttl_ms=60000, label="second")
        self.browser.fill("#break-reason", "too late")
        self.browser.click("#break .danger")
        self.browser.await_true("document.querySelector('#break .outcome').innerText.startsWith('Not broken')")
        self.assertIn("not_held", self.browser.text("#break .outcome"))
        self.browser.press("Escape")
        self.browser.await_true("!document.getElementById('break').open")
        self.assertTrue(self.browser.run("return document.getElementById('detail').open"), "Escape closed both dialogs")
        self.assertEqual(daemon.ask("GET", "/v1/locks/report")["holders"][0]["token"], second["token"])

    def test_cancel_breaks_nothing(self) -> None:
        daemon = self.open_one()
        daemon.acquire("report", "local", ttl_ms=60000)
        self.ask_to_break("report")
        self.browser.fill("#break-reason", "no")
        self.browser.click("#break .buttons button")
        self.browser.await_true("!document.getElementById('break').open")
        self.assertTrue(self.browser.run("return document.activeElement.matches('.holder-card .danger')"), "the focus returns")
        self.assertEqual(len(daemon.ask("GET", "/v1/locks/report")["holders"]), 1)

    def test_a_daemon_that_only_shows_offers_no_breaking(self) -> None:
        self.open_one("--read-only")
        self.world.run(self.world.sqlite(), "report", "works@web1")
        self.open_lock("report")
        self.browser.await_true("document.querySelector('.holder-card').innerText.includes('works@web1')")
        self.assertFalse(self.browser.run("return [...document.querySelectorAll('button')].some((each) => each.checkVisibility() && /Break/.test(each.innerText))"))
        self.assertIn("read only", self.browser.text(".top"))


class DetailTest(PageCase):
    def test_the_history_is_of_this_lock_alone(self) -> None:
        daemon = self.open_one()
        for name in ("a/b", "a%2Fb", "a"):
            daemon.release(daemon.acquire(name, "local", ttl_ms=60000, label=f"took {name}"))
        daemon.acquire("a/b", "local", ttl_ms=60000, label="again a/b")
        self.open_lock("a/b")
        self.browser.await_true("document.querySelectorAll('.events li').length >= 3")
        text = self.browser.text(".events")
        self.assertIn("took a/b", text)
        self.assertIn("again a/b", text)
        self.assertNotIn("took a%2Fb", text)
        self.assertEqual(text.count("took"), 2, "granted and released")

    def test_waiters_are_listed_in_order(self) -> None:
        daemon = self.open_one()
        url = self.world.sqlite()
        self.world.run(url, "x", "holder")
        await_lock(daemon, "local", "x", 1)
        for number in (1, 2, 3):
            self.world.run(url, "x", f"waiter {number}")
            await_lock(daemon, "local", "x", 1, number)
        self.open_lock("x")
        names = "[...document.querySelectorAll('.queue .label')].map((each) => each.textContent).join()"
        self.browser.await_true(f"{names} === 'waiter 1,waiter 2,waiter 3'")
        self.world.stop(self.world.programs[2])
        self.browser.await_true(f"{names} === 'waiter 1,waiter 3'")
        self.browser.await_true("document.querySelector('.events').innerText.includes('gave up waiter 2')")

    def test_all_holders_of_permits_are_listed_and_readers_too(self) -> None:
        daemon = self.open_one()
        for number in (1, 2):
            daemon.acquire("disk", "local", ttl_ms=60000, mode="permit", permits=3, label=f"copy {number}")
            daemon.acquire("catalog", "local", ttl_ms=60000, mode="shared", label=f"reader {number}")
        self.await_row("disk", "2 of 3 permits", "and 1 more")
        self.await_row("catalog", "shared", "and 1 more")
        for name, label in (("disk", "copy"), ("catalog", "reader")):
            self.open_lock(name)
            await_condition(lambda: all(f"{label} {number}" in self.browser.text("#detail ul.plain") for number in (1, 2)), "both holders")


if __name__ == "__main__":
    unittest.main()
