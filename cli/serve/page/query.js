// Which locks are shown, and in which order: pure functions.

/** Part of the time of a lease that is left, 0 to 1; null if it has no end. */
export function left(lock, now_ms) {
  if (lock.expires_at_ms === null) return null;
  return Math.min(1, Math.max(0, (lock.expires_at_ms - now_ms) / lock.span_ms));
}

/** A holder renews each third of its time. With less than half left it is late, or never renews. */
export function expiring(lock, now_ms) {
  const part = left(lock, now_ms);
  return part !== null && part < 0.5;
}

// Beginnings are wall-clock times: the smallest is the longest ago. Without one, the lock comes last.
const ORDERS = {
  // Then by name, not by wait: rows that change places with every look cannot be clicked.
  waiters: (a, b) => b.waiters.length - a.waiters.length,
  wait: (a, b) => time(a.waiting_since_ms, b.waiting_since_ms) || b.waiters.length - a.waiters.length,
  age: (a, b) => time(a.since_ms, b.since_ms),
  name: () => 0,
};

function time(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

function text(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** query: {words: "a b", engine, mode, contended, expiring, sort}. Every word must be found. */
export function select(locks, query, now_ms) {
  const words = query.words.toLowerCase().split(/\s+/).filter(Boolean);
  const result = [];
  for (const lock of locks) if (matches(lock, query, words, now_ms)) result.push(lock);
  const order = ORDERS[query.sort] ?? ORDERS.waiters;
  return result.sort((a, b) => order(a, b) || text(a.sort_name, b.sort_name) || text(a.key, b.key));
}

function matches(lock, query, words, now_ms) {
  if (query.engine && lock.engine !== query.engine) return false;
  if (query.mode && !lock.holders.some((holder) => holder.mode === query.mode)) return false;
  if (query.contended && lock.waiters.length === 0) return false;
  if (query.expiring && !expiring(lock, now_ms)) return false;
  return words.every((word) => lock.text.includes(word));
}
