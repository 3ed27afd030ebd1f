"""What the workers in Python share: the lines of ../../common/worker.h."""

import os
import random
import statistics
import sys
import threading
import time


class Lines:
    """`make(name)` returns a lock with acquire() and release(), for one thread at a time.
    `make_mixed(name)`, if there is one, a reader's and a writer's."""

    def __init__(self, make, make_mixed=None):
        self.make = make
        self.make_mixed = make_mixed
        self.over = False
        self.passes = []
        self.contenders = []

    def pairs(self, name, seconds):
        lock = self.make(name)
        begin = time.monotonic()
        end = begin + float(seconds)
        times = []
        before = begin
        while before < end:
            lock.acquire()
            lock.release()
            after = time.monotonic()
            times.append(after - before)
            before = after
        return f"{len(times) / (before - begin):.1f} {statistics.median(times) * 1e6:.2f}"

    def threads(self, count, seconds):
        counts = [0] * int(count)
        self.over = False

        def work(number):
            lock = self.make(f"flight-{number}")
            while not self.over:
                lock.acquire()
                lock.release()
                counts[number] += 1

        threads = [self.start(work, number) for number in range(int(count))]
        time.sleep(float(seconds) / 5)
        before, begin = sum(counts), time.monotonic()
        time.sleep(float(seconds))
        rate = (sum(counts) - before) / (time.monotonic() - begin)
        self.over = True
        for thread in threads:
            thread.join()
        return f"{rate:.1f}"

    def contend(self, name, count, hold_us, pause_us):
        self.over = False
        self.passes = []

        def work(number):
            lock = self.make(name)
            while not self.over:
                asked = time.monotonic_ns()
                lock.acquire()
                got = time.monotonic_ns()
                self.sleep(hold_us)
                released = time.monotonic_ns()
                lock.release()
                self.passes.append(f"{number} {asked} {got} {released}")
                self.sleep(pause_us)

        self.contenders = [self.start(work, number) for number in range(int(count))]
        return "ok"

    def stop(self):
        self.over = True
        for contender in self.contenders:
            contender.join()
        return " ".join([str(len(self.passes)), *self.passes])

    def mix(self, name, seconds, percent, hold_us):
        if self.make_mixed is None:
            return "what?"
        reader, writer = self.make_mixed(name)
        count, begin = 0, time.monotonic()
        while time.monotonic() - begin < float(seconds):
            lock = writer if random.randrange(100) < int(percent) else reader
            lock.acquire()
            time.sleep(int(hold_us) / 1e6)
            lock.release()
            count += 1
        return f"{count / (time.monotonic() - begin):.1f}"

    def sleep(self, us):
        if int(us) > 0 and not self.over:
            time.sleep(int(us) / 1e6)

    def start(self, work, number):
        def guarded():
            try:
                work(number)
            except Exception as error:  # whatever it is, the benchmark has to know
                fail(error)

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def serve(self):
        verbs = {
            "pairs": self.pairs,
            "threads": self.threads,
            "flight": self.threads,
            "contend": self.contend,
            "stop": self.stop,
            "mix": self.mix,
        }
        print("ready", flush=True)
        for line in sys.stdin:
            verb, *words = line.split()
            try:
                print(verbs[verb](*words) if verb in verbs else "what?", flush=True)
            except Exception as error:
                fail(error)


def fail(error):
    line = f"failed: {type(error).__name__}: {error}".split("\n", maxsplit=1)[0]
    os.write(1, f"{line}\n".encode())
    os._exit(1)


def host_and_port(url):
    host, port = url.split("://", 1)[1].rsplit(":", 1)
    return host, int(port)
