"""The page and its daemon: one that restarts, one that asks for a token, one that is gone."""

from __future__ import annotations

import signal
import unittest

from page_case import PageCase

TOKEN = "correct-horse-battery-staple-1234567"


class RestartTest(PageCase):
    # While the daemon is away, requests fail, and the console tells of it.
    expected_errors = ("net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_CONNECTION_RESET", "net::ERR_EMPTY_RESPONSE")

    def test_it_says_that_it_is_not_live_and_comes_back_by_itself(self) -> None:
        for how in (signal.SIGTERM, signal.SIGKILL):
            daemon = self.open_one()
            url = self.world.sqlite()
            self.world.run(url, f"before-{how}", "kept@web1")
            self.await_row(f"before-{how}", "kept@web1")
            self.open_lock(f"before-{how}")
            self.browser.await_true("document.querySelectorAll('.events li').length > 0")
            daemon.stop(how)
            self.await_state("Not live")
            self.assertIn("You see what was so at", self.browser.text("#banner"))
            self.browser.await_true("document.getElementById('spoken').textContent.startsWith('Not live')")
            # The clock stands still: no bar shrinks that nobody watches.
            shown = self.browser.run("return document.querySelector('#rows .left-text').textContent")
            self.world.run(url, f"meanwhile-{how}", "new@web2")
            self.browser.await_true("/Trying again in/.test(document.getElementById('banner-text').textContent)")
            self.assertEqual(self.browser.run("return document.querySelector('#rows .left-text').textContent"), shown)
            for width in (360, 1280):
                self.assert_fits(width)
            daemon.start()
            self.await_state("Live")
            self.browser.await_true("document.getElementById('banner').hidden")
            self.await_row(f"meanwhile-{how}", "new@web2")
            self.await_row(f"before-{how}", "kept@web1")
            self.assertTrue(self.browser.run("return document.querySelectorAll('.events li').length > 0"), "what the page had seen is kept")
            for program in list(self.world.programs):
                self.world.finish(program)
            self.await_names()

    def test_try_now_does(self) -> None:
        daemon = self.open_one()
        daemon.stop(signal.SIGKILL)
        self.await_state("Not live")
        daemon.start()
        self.browser.run("document.getElementById('retry').click()")
        self.await_state("Live")

    def test_locks_that_went_meanwhile_are_gone(self) -> None:
        daemon = self.open_one()
        leases = [daemon.acquire(f"lock-{number}", "local", ttl_ms=600000) for number in range(3)]
        self.await_names("lock-0", "lock-1", "lock-2")
        daemon.stop(signal.SIGKILL)
        self.await_state("Not live")
        other = self.world.daemon([f"local={self.world.sqlite()}"])
        other.release(leases[1])
        daemon.start()
        self.await_names("lock-0", "lock-2")


class TokenTest(PageCase):
    expected_errors = ("401 (Unauthorized)",)

    def sign_in(self, token: str) -> None:
        self.browser.await_true("document.getElementById('signin').open")
        self.browser.fill("#token", token)
        self.browser.press("Enter")

    def test_a_token_is_asked_for_and_kept_in_this_tab(self) -> None:
        daemon = self.world.daemon([f"local={self.world.sqlite()}"], token=TOKEN)
        self.open(daemon, await_live=False)
        self.await_state("Signed out")
        self.browser.press("Escape")
        self.assertTrue(self.browser.run("return document.getElementById('signin').open"), "there is nothing to see without")
        for width in (360, 1280):
            self.assert_fits(width)
        self.sign_in("wrong")
        self.browser.await_true("document.getElementById('signin-error').textContent.includes('does not accept')")
        self.sign_in(TOKEN)
        self.await_state("Live")
        self.assertFalse(self.browser.run("return document.getElementById('signin').open"))
        daemon.acquire("report", "local", ttl_ms=600000)
        self.await_row("report")
        self.open_lock("report")
        self.browser.await_true("document.querySelectorAll('.events li').length === 1")
        self.browser.go(daemon.url)
        self.await_state("Live")
        self.assertNotIn(TOKEN, self.browser.run("return document.documentElement.outerHTML + location.href + document.cookie + JSON.stringify(localStorage)"))

    def test_another_token_after_a_restart_is_asked_for(self) -> None:
        daemon = self.world.daemon([f"local={self.world.sqlite()}"], token=TOKEN)
        self.open(daemon, await_live=False)
        self.sign_in(TOKEN)
        self.await_state("Live")
        daemon.stop()
        with open(f"{self.world.directory}/token", "w", encoding="ascii") as file:
            file.write("another-token-that-is-long-enough-000\n")
        daemon.start()
        self.await_state("Signed out")
        self.sign_in("another-token-that-is-long-enough-000")
        self.await_state("Live")


TokenTest.expected_errors += RestartTest.expected_errors


if __name__ == "__main__":
    unittest.main()
