// The state that the feed told: engines, locks, contention, deadlocks. No element is touched here.

import { now, synchronize } from './clock.js';
import { visible } from './format.js';

const CONTENTION_POINTS = 360; // 30 minutes of a point each 5 s

export function keyOf(engine, path) {
  return `${engine}\n${path}`;
}

/** A lock as the table needs it: what is searched and sorted by is worked out once per change. */
function record(lock, before, now_ms) {
  const holders = lock.holders ?? [];
  const waiters = lock.waiters ?? [];
  const first = holders[0];
  const ends = holders.map((holder) => holder.expires_at_ms).filter(Number.isFinite);
  const expires_at_ms = ends.length ? Math.min(...ends) : null;
  const token = first ? String(first.token) : '';
  const same = before !== undefined && before.token === token;
  const name = visible(lock.name);
  return {
    ...lock, name, holders, waiters, token, expires_at_ms,
    key: keyOf(lock.engine, lock.path),
    version: (before?.version ?? 0) + 1,
    handed: before !== undefined && !same,
    // The feed does not tell the ttl: the most time that was ever seen left is the whole bar.
    span_ms: expires_at_ms === null ? null : Math.max(same ? before.span_ms ?? 0 : 0, expires_at_ms - now_ms, 1),
    since_ms: least(holders.map((holder) => holder.held_since_ms)),
    waiting_since_ms: least(waiters.map((waiter) => waiter.waiting_since_ms)),
    sort_name: name.toLowerCase(),
    text: [name, lock.engine, ...holders.map((holder) => `${holder.label} ${holder.token}`),
      ...waiters.slice(0, 100).map((waiter) => waiter.label)].join('\n').toLowerCase(),
  };
}

function least(times) {
  let result = Infinity;
  for (const time of times) if (time < result) result = time;
  return result;
}

/** A daemon that has just started has neither reached an engine nor failed to. */
export function isDown(engine) {
  return engine?.reachable === false && engine.error !== undefined;
}

export class Store {
  engines = new Map();
  locks = new Map();
  contention = new Map();
  deadlocks = [];
  /** By engine, while a full picture comes in pieces: the locks that were here before and have not come yet. */
  #unseen = new Map();
  version = '';
  read_only = false;

  /** Takes in one event of the feed. */
  take(kind, data) {
    if (kind === 'hello') this.#hello(data);
    else if (kind === 'engines') this.#setEngines(data);
    else if (kind === 'locks') this.#setLocks(data);
    else if (kind === 'contention') this.addPoint(data.engine, data.point);
    else if (kind === 'deadlocks') this.#setDeadlocks(data.deadlocks ?? []);
  }

  #hello(data) {
    synchronize(data.now_ms, true);
    this.version = data.version ?? '';
    this.read_only = data.read_only === true;
    this.deadlocks = [];
    this.#setEngines(data);
  }

  #setEngines(data) {
    synchronize(data.now_ms);
    this.engines = new Map((data.engines ?? []).map((engine) => [engine.name, engine]));
    for (const [key, lock] of this.locks) if (!this.engines.has(lock.engine)) this.locks.delete(key);
  }

  * #keysOf(engine) {
    for (const [key, lock] of this.locks) if (lock.engine === engine) yield key;
  }

  /** What was seen of an engine that does not answer now is no news of now. */
  reachable(engine) {
    return !isDown(this.engines.get(engine));
  }

  #setLocks(data) {
    synchronize(data.now_ms);
    if (data.full) this.#unseen.set(data.engine, new Set(this.#keysOf(data.engine)));
    const unseen = this.#unseen.get(data.engine);
    for (const lock of data.upsert ?? []) {
      const key = keyOf(data.engine, lock.path);
      this.locks.set(key, record({ ...lock, engine: data.engine }, this.locks.get(key), data.now_ms));
      unseen?.delete(key);
    }
    for (const path of data.remove ?? []) this.locks.delete(keyOf(data.engine, path));
    if (data.more || !unseen) return;
    for (const key of unseen) this.locks.delete(key);
    this.#unseen.delete(data.engine);
  }

  // They are told when they change; how long each wait has lasted goes on meanwhile.
  #setDeadlocks(deadlocks) {
    const since = (wait) => (wait.waited_for_ms === undefined ? undefined : now() - wait.waited_for_ms);
    const told = (wait) => ({ ...wait, name: visible(wait.name), since_ms: since(wait) });
    this.deadlocks = deadlocks.map((deadlock) => ({ ...deadlock, waits: deadlock.waits.map(told) }));
  }

  /** Points come from the history that was asked for and from the feed; each moment counts once. */
  addPoint(engine, point) {
    const points = this.contention.get(engine) ?? [];
    let at = points.length;
    while (at > 0 && points[at - 1].at_ms > point.at_ms) at -= 1;
    if (points[at - 1]?.at_ms === point.at_ms) points[at - 1] = point;
    else points.splice(at, 0, point);
    if (points.length > CONTENTION_POINTS) points.shift();
    this.contention.set(engine, points);
  }
}
