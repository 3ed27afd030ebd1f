"""What the peers in Python share: the section (see ../section.h) and the lines."""

import os
import sys
import time


class Section:
    """What the lock protects."""

    def __init__(self, file, who):
        self.file = file
        self.who = who

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
        os.write(log, text.encode())
        os.close(log)

    def go_through(self):
        alone = self.enter()
        number = os.open(self.file, os.O_CREAT | os.O_RDWR, 0o600)
        before = int(os.pread(number, 32, 0) or b"0")
        self.log(self.who if alone else "!" + self.who)
        os.pwrite(number, str(before + 1).encode(), 0)
        os.close(number)
        if alone:
            os.unlink(self.file + ".inside")

    def repeat(self, count, held):
        """`count` times through, each inside `with held()`, which yields what tells afterwards
        whether the lock was held to the end. What `sections` answers."""
        self.await_go()
        failures = 0
        for _ in range(int(count)):
            with held() as outcome:
                self.go_through()
            failures += not outcome.ok
        return f"done {failures}"


class Outcome:
    ok = True


def fail(error):
    print(f"failed: {error}", flush=True)
    sys.exit(1)


def serve(make):
    """Answers the lines on stdin by the methods of make(url) that are called as their verbs are
    (`try_` for `try`)."""
    try:
        peer = make(sys.argv[-1])
        print("ready", flush=True)
        for line in sys.stdin:
            verb, *words = line.split()
            print(getattr(peer, "try_" if verb == "try" else verb)(*words), flush=True)
    except Exception as error:  # pylint: disable=broad-except  # the test shows it
        fail(repr(error))
