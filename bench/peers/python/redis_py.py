"""redis_py.py [--sleep=S] URL: the Lock of redis-py as a worker; S is its pause between two tries (its
default: 0.1 s)."""

import sys

import redis
from worker import Lines, host_and_port

host, port = host_and_port(sys.argv[-1])
sleep = float(sys.argv[1].split("=")[1]) if len(sys.argv) > 2 else 0.1
# (Its default of 100 is an error where more threads want one.)
client = redis.Redis(host=host, port=port, max_connections=1000)
client.ping()
Lines(lambda name: client.lock(name, timeout=30, sleep=sleep, thread_local=False)).serve()
