// redlock_peer.mjs URL: npm's redlock on one server, driven by lines on stdin (see README.md).
import { load, POLL_MS, SECTIONS_TTL_MS, serve } from './peer.mjs';

const { Redis } = load('ioredis');
const Redlock = load('redlock');

const client = new Redis(process.argv[2]);
const patient = new Redlock([client], { retryCount: -1, retryDelay: POLL_MS, retryJitter: 0 });
const impatient = new Redlock([client], { retryCount: 0 });

let lock;

// Redlock throws its LockError for "busy" and for "not mine"; all else is a failure.
async function orElse(promise, answer) {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof Redlock.LockError) return answer;
    throw error;
  }
}

async function take(redlock, name, ttlMs) {
  const got = await orElse(redlock.acquire(name, Number(ttlMs)), null);
  if (got === null) return 'busy';
  lock = got;
  return 'granted';
}

await serve('r', client, {
  acquire: (name, ttlMs) => take(patient, name, ttlMs),
  try: (name, ttlMs) => take(impatient, name, ttlMs),
  release: () => orElse(lock.unlock().then(() => 'ok'), 'not_held'),
  renew: (ttlMs) => orElse(impatient.extend(lock, Number(ttlMs)).then(() => 'ok'), 'not_held'),
  async section(name, work) {
    const held = await patient.acquire(name, SECTIONS_TTL_MS);
    work();
    return orElse(held.unlock().then(() => true), false);
  },
});
