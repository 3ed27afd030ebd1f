"""redis_py_peer.py URL: redis-py's Lock, driven by lines on stdin (README.md has the list)."""

import os
import sys
import time

try:
    import redis
    from redis.exceptions import LockError
except ImportError as error:
    print(f"failed: {error} in {sys.executable} (Debian: python3-redis)", flush=True)
    sys.exit(1)

POLL_S = 0.001  # redis-py has no other way to wait; its default is 0.1
SECTIONS_TTL_S = 30


class Section:
    """What the lock protects: see section.h."""

    def __init__(self, file):
        self.file = file

    def await_go(self):
        while not os.path.exists(self.file + ".go"):
            time.sleep(0.001)

    def enter(self):
        try:
            os.close(os.open(self.file + ".inside", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return True
        except FileExistsError:
            return False

    def log(self, text):
        log = os.open(self.file + ".log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.write(log, text)
        os.close(log)

    def go_through(self):
        alone = self.enter()
        number = os.open(self.file, os.O_CREAT | os.O_RDWR, 0o600)
        before = int(os.pread(number, 32, 0) or b"0")
        self.log(b"p" if alone else b"!p")
        os.pwrite(number, str(before + 1).encode(), 0)
        os.close(number)
        if alone:
            os.unlink(self.file + ".inside")


class Peer:
    def __init__(self, url):
        self.client = redis.Redis.from_url(url)
        self.client.ping()
        self.lock = None

    def obey(self, verb, *words):
        verbs = {
            "acquire": self.acquire,
            "try": self.try_once,
            "release": self.release,
            "renew": self.renew,
            "sections": self.sections,
        }
        return verbs[verb](*words)

    def take(self, name, ttl_ms, blocking):
        # A ttl of 0 is a lock that never expires, which is what redis-py makes by default.
        lock = self.client.lock(name, timeout=int(ttl_ms) / 1000 or None, sleep=POLL_S)
        if not lock.acquire(blocking=blocking):
            return "busy"
        self.lock = lock
        return "granted"

    def acquire(self, name, ttl_ms):
        return self.take(name, ttl_ms, blocking=True)

    def try_once(self, name, ttl_ms):
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
        section = Section(file)
        section.await_go()
        failures = 0
        for _ in range(int(count)):
            lock.acquire()
            section.go_through()
            try:
                lock.release()
            except LockError:
                failures += 1
        return f"done {failures}"


def main():
    try:
        peer = Peer(sys.argv[1])
        print("ready", flush=True)
        for line in sys.stdin:
            print(peer.obey(*line.split()), flush=True)
    except Exception as error:  # pylint: disable=broad-except  # the test shows it
        print(f"failed: {error!r}", flush=True)
        sys.exit(1)


main()
