"""kazoo_peer.py [--curator-names] URL: kazoo's Lock, driven by lines on stdin (README.md has the list)."""

import contextlib
import sys

from peer import Outcome, Section, fail, serve

try:
    from kazoo.client import KazooClient
    from kazoo.exceptions import NoNodeError
    from kazoo.recipe.lock import Lock
except ImportError as missing:
    fail(f"{missing} in {sys.executable} (Debian: python3-kazoo)")

SECTIONS_TTL_MS = 6000
# The text before the sequence number in the names of others' nodes: Curator's and ours, and
# those of Curator's read-write lock.
PATTERNS = ["-lock-", "__WRIT__", "__READ__"]


class CuratorNamedLock(Lock):
    """Curator sorts by what follows `lock-` and does not understand kazoo's own names; so kazoo
    can share a lock with Curator only under names like its."""

    _NODE_NAME = "-lock-"


class Peer:
    kind = Lock

    def __init__(self, url):
        self.servers = url.split("://", 1)[1]
        self.clients = {}  # by ttl, which is a session's timeout here
        self.lock = None
        self.client(SECTIONS_TTL_MS)

    def client(self, ttl_ms):
        ttl_ms = int(ttl_ms)
        if ttl_ms not in self.clients:
            client = KazooClient(self.servers, timeout=ttl_ms / 1000)
            client.start(timeout=15)
            self.clients[ttl_ms] = client
        return self.clients[ttl_ms]

    def make(self, name, ttl_ms):
        return self.kind(self.client(ttl_ms), "/" + name, extra_lock_patterns=PATTERNS)

    def take(self, name, ttl_ms, blocking):
        lock = self.make(name, ttl_ms)
        if not lock.acquire(blocking=blocking):
            return "busy"
        self.lock = lock
        return "granted"

    def acquire(self, name, ttl_ms):
        return self.take(name, ttl_ms, blocking=True)

    def try_(self, name, ttl_ms):
        return self.take(name, ttl_ms, blocking=False)

    def is_there(self):
        client = self.lock.client
        return bool(client.retry(client.exists, self.lock.path + "/" + self.lock.node))

    def release(self):
        answer = "ok" if self.is_there() else "not_held"
        self.lock.release()
        return answer

    def renew(self, _ttl_ms):
        return "ok" if self.is_there() else "not_held"

    def queue(self, name):
        """How many hold it or wait for it, whoever they are."""
        try:
            return str(len(self.client(SECTIONS_TTL_MS).get_children("/" + name)))
        except NoNodeError:
            return "0"

    def sections(self, name, file, count):
        lock = self.make(name, SECTIONS_TTL_MS)

        @contextlib.contextmanager
        def held():
            outcome = Outcome()
            lock.acquire()
            yield outcome
            outcome.ok = lock.release()

        return Section(file, "k").repeat(count, held)


class CuratorNamedPeer(Peer):
    kind = CuratorNamedLock


serve(CuratorNamedPeer if "--curator-names" in sys.argv else Peer)
