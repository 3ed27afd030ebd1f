#!/usr/bin/env python3
"""Books into a ledger that many processes share, one at a time. Usage: worker.py NAME LEDGER ROUNDS

The lock is held as long as its connection: the daemon renews it, and says when it is lost. The ledger is an SQLite
file that checks the lock's token whenever it is read or written. Needs nothing but Python."""
import http.client, json, os, socket, sqlite3, sys, threading, time, urllib.parse

DAEMON = urllib.parse.urlsplit(os.environ.get("HOLDFAST_HTTP", "http://127.0.0.1:7272")).netloc


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps


class Lock:
    def __init__(self, name: str, ttl_ms: int = 15000, wait_ms: int = 600000) -> None:
        self.lost = threading.Event()
        self.connection = http.client.HTTPConnection(DAEMON, timeout=wait_ms / 1000 + 20)
        self.connection.connect()
        self.socket = self.connection.sock
        self.sent = now()  # before the request: all that the daemon says is left counts from here
        body = json.dumps({"ttl_ms": ttl_ms, "wait_ms": wait_ms})
        self.connection.request("POST", f"/v1/locks/{urllib.parse.quote(name, safe='')}/hold", body,
                                {"Content-Type": "application/json"})
        self.events = self.connection.getresponse()
        if self.events.status != 200:
            raise RuntimeError(json.load(self.events)["detail"])
        self.token = int(self.events.headers["Holdfast-Token"])
        self.valid_until = 0.0
        self.hear()
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def hear(self) -> None:
        """The next event. Fails if none comes before the time is over."""
        kind = self.events.readline().decode().strip().removeprefix("event: ")
        data = json.loads(self.events.readline().decode().strip().removeprefix("data: "))
        self.events.readline()
        self.valid_until = 0 if kind == "lost" else self.sent + data["valid_from_send_ms"] / 1000
        self.socket.settimeout(max(0.001, self.valid_until - now()))

    def listen(self) -> None:
        try:
            while self.held():
                self.hear()
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # silence, or the end of the stream, for which http.client has several errors
        finally:
            self.lost.set()

    def held(self) -> bool:
        return not self.lost.is_set() and now() < self.valid_until

    def release(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.listener.join()
        self.events.close()


class Ledger:
    """Refuses tokens older than one that it has seen, in the transaction that reads or writes."""

    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None)
        self.db.executescript("""CREATE TABLE IF NOT EXISTS ledger(sum INTEGER, mark INTEGER);
            INSERT INTO ledger SELECT 0, 0 WHERE NOT EXISTS (SELECT * FROM ledger)""")

    def read(self, token: int) -> int:
        return self.fenced(token, "sum = sum")

    def write(self, token: int, total: int) -> int:
        return self.fenced(token, "sum = ?", total)

    def fenced(self, token: int, change: str, *values: int) -> int:
        row = self.db.execute(f"UPDATE ledger SET mark = ?, {change} WHERE mark <= ? RETURNING sum",
                              (token, *values, token)).fetchall()
        if not row:
            raise PermissionError(f"the token {token} is stale: somebody newer has been there")
        return int(row[0][0])


if __name__ == "__main__":
    ledger = Ledger(sys.argv[2])
    for _ in range(int(sys.argv[3])):
        lock = Lock(sys.argv[1])
        total = ledger.read(lock.token)
        lock.lost.wait(0.05)  # work that takes its time, and ends if the lock is lost
        if not lock.held():
            sys.exit("the lock was lost")
        ledger.write(lock.token, total + 1)
        lock.release()
