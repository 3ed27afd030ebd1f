"""Makes docs/pictures/page.png and page-dark.png: a Redis and a PostgreSQL on one page, after some minutes of work.

    with_server=build/release/tests/support/with_server
    $with_server redis $with_server postgres /usr/bin/python3 tests/page/pictures.py docs/pictures
"""

from __future__ import annotations

import os
import random
import sys
import threading

from browser import Browser
from page_case import ROW
from world import Daemon, World

SECONDS = float(os.environ.get("PICTURE_SECONDS", "330"))
WIDTH, HEIGHT = 1280, 860


class Workers:
    """Threads that take a lock, hold it for some seconds, and come again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.over = threading.Event()
        self.threads: list[threading.Thread] = []

    def add(self, url: str, name: str, label: str, hold_s: float, pause_s: float, *options: str) -> None:
        thread = threading.Thread(target=self.work, args=(url, name, label, hold_s, pause_s, options))
        self.threads.append(thread)
        thread.start()

    def work(self, url: str, name: str, label: str, hold_s: float, pause_s: float, options: tuple[str, ...]) -> None:
        chance = random.Random(f"{name} {label}")
        while not self.over.wait(pause_s * chance.uniform(0.2, 1.8)):
            hold = f"{hold_s * chance.uniform(0.5, 1.5):.1f}"
            program = self.world.start(url, "run", name, f"--label={label}", "--quiet", *options, "--", "sleep", hold)
            while program.poll() is None and not self.over.wait(0.2):
                pass
            self.world.stop(program)

    def end(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()


def begin(workers: Workers, redis: str, postgres: str) -> None:
    world = workers.world
    for number in range(1, 6):
        workers.add(redis, "payments/capture", f"capture@web{number}", 9, 14)
        workers.add(postgres, "ledger/close", f"booking@web{number}", 5, 16)
    for number in range(1, 4):
        workers.add(redis, "payments/refund", f"refund@web{number}", 6, 20)
        workers.add(postgres, "invoices/2026-11", f"invoice@batch{number}", 8, 15)
    world.run(postgres, "nightly-report", "report@batch1")
    world.run(redis, "search/reindex", "indexer@search1")
    world.run(redis, "sessions/purge", "purge@cron1")
    for number in (1, 2):
        world.run(redis, "catalog", f"reader@web{number}", "--shared")
        world.run(postgres, "copy-slots", f"backup@db{number}", "--permits=3")


def break_one(daemon: Daemon) -> None:
    holders = daemon.ask("GET", "/v1/locks/payments%2Fcapture?engine=cache")["holders"]
    if holders:
        daemon.ask("POST", "/v1/locks/payments%2Fcapture/break?engine=cache",
                   {"token": holders[0]["token"], "reason": "hangs since the deploy"})


def make(folder: str, redis: str, postgres: str, browser: Browser, world: World) -> None:
    daemon = world.daemon([f"cache={redis}", f"orders={postgres}"])
    browser.resize(WIDTH, HEIGHT)
    browser.command("Emulation.setScrollbarsHidden", hidden=True)
    browser.go(daemon.url)
    workers = Workers(world)
    try:
        begin(workers, redis, postgres)
        workers.over.wait(SECONDS - 40)
        browser.await_true(f"{ROW}", "payments/capture")
        break_one(daemon)
        workers.over.wait(40)
        # The moment at which there is most to see.
        browser.await_true(f"Number({ROW}?.querySelector('.badge')?.textContent) >= 3", "payments/capture")
        browser.run(f"{ROW}.querySelector('button.name').click(); document.activeElement.blur(); scrollTo(0, 0)", "payments/capture")
        browser.await_true("document.querySelectorAll('.events li').length > 3")
        for scheme, name in (("light", "page.png"), ("dark", "page-dark.png")):
            browser.scheme(scheme)
            browser.picture(os.path.join(folder, name))
    finally:
        workers.end()


def main() -> None:
    folder, redis, postgres = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    world, browser = World(), Browser()
    try:
        make(folder, redis, postgres, browser, world)
    finally:
        browser.close()
        world.close()


if __name__ == "__main__":
    main()
