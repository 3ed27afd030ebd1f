// redis_semaphore_peer.mjs URL: the Mutex of npm's redis-semaphore, driven by lines on stdin (see
// README.md). The key of its mutex "x" is "mutex:x".
import { load, POLL_MS, SECTIONS_TTL_MS, serve } from './peer.mjs';

const { Redis } = load('ioredis');
const { Mutex } = load('redis-semaphore');

const client = new Redis(process.argv[2]);

const make = (name, ttlMs, acquireAttemptsLimit = Number.POSITIVE_INFINITY) =>
  new Mutex(client, name, {
    lockTimeout: Number(ttlMs),
    acquireTimeout: 60_000,
    acquireAttemptsLimit,
    retryInterval: POLL_MS,
    onLockLost() {}, // isAcquired tells it too; the default throws where nobody can catch it
  });

let mutex;

async function take(wanted) {
  if (!(await wanted.tryAcquire())) return 'busy';
  mutex = wanted;
  return 'granted';
}

// release() does not tell whether there was anything to release.
async function release(held) {
  const mine = held.isAcquired;
  await held.release();
  return mine;
}

await serve('s', client, {
  acquire: (name, ttlMs) => take(make(name, ttlMs)),
  try: (name, ttlMs) => take(make(name, ttlMs, 1)),
  release: async () => ((await release(mutex)) ? 'ok' : 'not_held'),
  // It renews by itself, at 0.8 of the ttl, and has no call for it.
  renew: async () => (mutex.isAcquired ? 'ok' : 'not_held'),
  async section(name, work) {
    const held = make(name, SECTIONS_TTL_MS);
    await held.acquire();
    work();
    return release(held);
  },
});
