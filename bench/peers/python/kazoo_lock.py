"""kazoo_lock.py URL: kazoo's Lock as a worker, and its ReadLock and WriteLock."""

import sys

from kazoo.client import KazooClient
from worker import Lines

client = KazooClient(hosts=sys.argv[1].split("://", 1)[1], timeout=30)
client.start(timeout=15)
Lines(
    lambda name: client.Lock("/" + name),
    lambda name: (client.ReadLock("/" + name), client.WriteLock("/" + name)),
).serve()
