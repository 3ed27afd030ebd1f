"""etcdctl_peer.py URL: `etcdctl lock`, driven by lines on stdin (README.md has the list).

The command takes the lock, prints its key, and keeps the lock until it is interrupted.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess

from peer import Outcome, Section, fail, serve

SECTIONS_TTL_S = 6
# The command has no "try": a lock that it has not got by then is busy.
TRY_S = 2
PR_SET_PDEATHSIG = 1

ETCDCTL = shutil.which("etcdctl")
if not ETCDCTL:
    fail("etcdctl is not there (Debian: etcd-client)")

libc = ctypes.CDLL(None)


def die_with_parent():
    """A peer that is killed must take its command with it."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Holder:
    """One run of the command."""

    def __init__(self, endpoints, name, ttl_s):
        self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            [ETCDCTL, f"--endpoints={endpoints}", "lock", f"--ttl={ttl_s}", name],
            env={**os.environ, "ETCDCTL_API": "3"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )

    def wait(self, timeout_s=None):
        """Whether it has the lock."""
        if not select.select([self.process.stdout], [], [], timeout_s)[0]:
            return False
        key = self.process.stdout.readline()
        if not key:
            raise RuntimeError(f"etcdctl ended with status {self.process.wait()}")
        return True

    def end(self):
        """True: it kept the lock until now."""
        lost = self.process.poll() is not None
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()  # To the end of its output, or it would die of writing more.
        return not lost


class Peer:
    def __init__(self, url):
        self.endpoints = url.split("://", 1)[1]
        self.holder = None

    def take(self, name, ttl_ms, timeout_s):
        holder = Holder(self.endpoints, name, -(-int(ttl_ms) // 1000))
        if not holder.wait(timeout_s):
            holder.end()
            return "busy"
        self.holder = holder
        return "granted"

    def acquire(self, name, ttl_ms):
        return self.take(name, ttl_ms, None)

    def try_(self, name, ttl_ms):
        return self.take(name, ttl_ms, TRY_S)

    def release(self):
        return "ok" if self.holder.end() else "not_held"

    def renew(self, _ttl_ms):
        return "ok" if self.holder.process.poll() is None else "not_held"

    def sections(self, name, file, count):
        @contextlib.contextmanager
        def held():
            outcome = Outcome()
            holder = Holder(self.endpoints, name, SECTIONS_TTL_S)
            holder.wait()
            yield outcome
            outcome.ok = holder.end()

        return Section(file, "e").repeat(count, held)


serve(Peer)
