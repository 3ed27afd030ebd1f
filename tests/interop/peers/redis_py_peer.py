"""redis_py_peer.py URL: redis-py's Lock, driven by lines on stdin (README.md has the list)."""

import contextlib
import sys

from peer import Outcome, Section, fail, serve

try:
    import redis
    from redis.exceptions import LockError
except ImportError as missing:
    fail(f"{missing} in {sys.executable} (Debian: python3-redis)")

POLL_S = 0.001  # redis-py has no other way to wait; its default is 0.1
SECTIONS_TTL_S = 30


class Peer:
    def __init__(self, url):
        self.client = redis.Redis.from_url(url)
        self.client.ping()
        self.lock = None

    def take(self, name, ttl_ms, blocking):
        # A ttl of 0 is a lock that never expires, which is what redis-py makes by default.
        lock = self.client.lock(name, timeout=int(ttl_ms) / 1000 or None, sleep=POLL_S)
        if not lock.acquire(blocking=blocking):
            return "busy"
        self.lock = lock
        return "granted"

    def acquire(self, name, ttl_ms):
        return self.take(name, ttl_ms, blocking=True)

    def try_(self, name, ttl_ms):
        return self.take(name, ttl_ms, blocking=False)

    def release(self):
        try:
            self.lock.release()
            return "ok"
        except LockError:
            return "not_held"

    def renew(self, ttl_ms):
        try:
            self.lock.extend(int(ttl_ms) / 1000, replace_ttl=True)
            return "ok"
        except LockError:
            return "not_held"

    def sections(self, name, file, count):
        lock = self.client.lock(name, timeout=SECTIONS_TTL_S, sleep=POLL_S)

        @contextlib.contextmanager
        def held():
            outcome = Outcome()
            lock.acquire()
            yield outcome
            try:
                lock.release()
            except LockError:
                outcome.ok = False

        return Section(file, "p").repeat(count, held)


serve(Peer)
