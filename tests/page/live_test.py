"""What happens to locks of a Redis and a PostgreSQL is seen on one page, without a reload."""

from __future__ import annotations

import sys
import unittest

from browser import await_condition
from page_case import ROW, PageCase
from world import await_lock, free_port

REDIS = POSTGRES = ""


class LiveTest(PageCase):
    def setUp(self) -> None:
        super().setUp()
        self.daemon = self.world.daemon([f"cache={REDIS}", f"orders={POSTGRES}"])
        self.open(self.daemon)

    def bar(self, name: str) -> float:
        width = self.browser.run(f"const row = {ROW}; return row?.querySelector('.fill').getBoundingClientRect().width", name)
        self.assertIsNotNone(width, name)
        return float(width)

    def test_both_engines_are_shown_while_bench_runs_on_them(self) -> None:
        for url in (REDIS, POSTGRES):
            self.world.start(url, "bench", "--workers=3", "--hold=20ms", "--seconds=600")
        for engine in ("cache", "orders"):
            self.browser.await_true("""[...document.querySelectorAll('#rows tr')].some((row) =>
                row.innerText.includes('holdfast-bench-0') && row.innerText.includes(arguments[0]) && row.querySelector('.badge'))""", engine)
            # The curve of waiters rises above its base.
            self.browser.await_true("""[...document.querySelectorAll('.card')].some((card) =>
                card.querySelector('h3').textContent === arguments[0] && /at most [1-9]/.test(card.innerText) &&
                card.querySelector('.curve .line').getAttribute('d') !== '')""", engine)
        self.browser.await_true("document.querySelectorAll('.card .reach[data-ok=yes]').length === 2")

    def test_a_lock_comes_changes_hands_and_goes(self) -> None:
        for engine, url in (("cache", REDIS), ("orders", POSTGRES)):
            name = f"report-{engine}"
            first = self.world.run(url, name, "first@web1")
            self.browser.await_true("window.kept = true")
            self.await_row(name, engine, "first@web1")
            self.world.run(url, name, "second@web2")
            self.await_row(name, "first@web1", "1")
            self.open_lock(name)
            self.browser.await_true("document.querySelector('.queue').innerText.includes('second@web2')")
            self.world.finish(first)
            self.await_row(name, "second@web2")
            self.browser.await_true("document.querySelector('.holder-card').innerText.includes('second@web2')")
            for event in ("handed over second@web2", "released first@web1", "began to wait second@web2", "granted first@web1"):
                self.browser.await_true("document.querySelector('.events').innerText.includes(arguments[0])", event)
            self.browser.await_true("document.querySelectorAll('.timeline .hold').length === 2 && document.querySelector('.timeline .wait')")
            self.world.finish(self.world.programs[-1])
            self.browser.await_true(f"!{ROW}", name)
            self.browser.await_true("document.querySelector('.detail').innerText.includes('Nobody holds it now')")
            self.browser.click("#detail .close")
        self.assertTrue(self.browser.run("return window.kept"), "the page was loaded again")

    def test_the_bar_shrinks_and_grows_with_a_renewal(self) -> None:
        lease = self.daemon.acquire("renewed", "cache", ttl_ms=60000, label="api@web1")
        self.await_row("renewed", "api@web1")
        full = self.bar("renewed")
        await_condition(lambda: self.bar("renewed") < full - 2, "a shorter bar")
        short = self.bar("renewed")
        self.daemon.ask("POST", "/v1/renew", {"lease": lease["lease"]})
        await_condition(lambda: self.bar("renewed") > short + 1, "a longer bar")

    def test_a_lock_that_ran_out_is_a_loss(self) -> None:
        self.daemon.acquire("short", "orders", ttl_ms=15000, label="api@web1")
        self.open_lock("short")
        self.browser.await_true("/ran out|lost/.test(document.querySelector('.events').innerText)")
        self.browser.await_true("document.querySelector('.timeline .cross')")

    def test_a_deadlock_across_engines_is_drawn_with_its_youngest(self) -> None:
        self.world.run(REDIS, "stock", "booking@web1", "--owner=job-7")
        self.world.run(POSTGRES, "ledger", "invoice@web2", "--owner=job-9")
        await_lock(self.daemon, "cache", "stock", 1)
        await_lock(self.daemon, "orders", "ledger", 1)
        self.world.run(POSTGRES, "ledger", "booking@web1", "--owner=job-7")
        await_lock(self.daemon, "orders", "ledger", 1, 1)
        self.world.run(REDIS, "stock", "invoice@web2", "--owner=job-9")
        self.browser.await_true("!document.getElementById('deadlocks').hidden")
        self.assertIn("booking@web1 waits for ledger on orders, held by invoice@web2", self.browser.text("#deadlocks"))
        self.assertIn("invoice@web2", self.browser.run("return document.querySelector('.cycle .youngest').textContent"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('.cycle .owner').length"), 2)
        self.assert_fits(360)
        self.browser.click("#deadlock-list button.name")
        self.browser.await_true("document.getElementById('detail').open")
        self.assertIn("ledger", self.browser.text("#detail-name"))
        self.browser.click("#detail .close")
        self.world.stop(self.world.programs[-1])
        self.browser.await_true("document.getElementById('deadlocks').hidden")


class DownTest(PageCase):
    # The doctor's answer is a 503, which the console tells of.
    expected_errors = ("503 (Service Unavailable)",)

    def test_an_engine_that_is_down_says_so_and_the_others_go_on(self) -> None:
        daemon = self.world.daemon([f"cache={REDIS}", f"gone=redis://127.0.0.1:{free_port()}"])
        self.open(daemon)
        daemon.acquire("kept", "cache", ttl_ms=60000)
        self.await_row("kept", "cache")
        self.browser.await_true("document.querySelector('.reach[data-ok=no]')")
        card = self.browser.run("return document.querySelector('.reach[data-ok=no]').closest('.card').innerText")
        self.assertIn("refused", card)
        figures = "[...document.querySelector('.reach[data-ok=no]').closest('.card').querySelectorAll('b')].map((each) => each.innerText)"
        self.assertEqual(self.browser.run(f"return {figures}"), ["–", "–", "–"], "nobody knows how many there are")
        self.browser.run("for (const each of document.querySelectorAll('.card details')) each.open = true")
        self.browser.run("document.querySelector('.reach[data-ok=no]').closest('.card').querySelector('.doctor button').click()")
        self.browser.await_true("document.querySelector('.doctor .error')?.innerText.includes('refused')")
        self.browser.run("document.querySelector('.reach[data-ok=yes]').closest('.card').querySelector('.doctor button').click()")
        self.browser.await_true("/Redis \\d/.test(document.querySelector('.doctor').innerText) && document.querySelector('.findings li')")
        self.assertIn("Exclusion", self.browser.text(".facts"))
        for width in (360, 768, 1280):
            self.assert_fits(width)


if __name__ == "__main__":
    REDIS, POSTGRES = sys.argv[-2:]
    del sys.argv[-2:]
    unittest.main()
