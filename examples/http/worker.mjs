// Writes into a log that many processes share, one at a time. Usage: node worker.mjs NAME LOG ROUNDS
//
// The lock is renewed until it is released. Needs nothing but Node.js 18.
import { appendFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

const daemon = process.env.HOLDFAST_HTTP ?? 'http://127.0.0.1:7272';
const ttl_ms = 9000;

/** The status is 0 if no answer came. */
async function post(path, fields, timeout_ms, key) {
  const headers = { 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) };
  const sent = performance.now(); // before the request: all that the daemon says is left counts from here
  try {
    const signal = AbortSignal.timeout(timeout_ms);
    const response = await fetch(daemon + path, { method: 'POST', headers, body: JSON.stringify(fields), signal });
    const answer = await response.json();
    // Tokens may exceed what a Number holds exactly: the header has the digits.
    const token = response.headers.get('Holdfast-Token');
    return { ...answer, status: response.status, token, valid_until: sent + (answer.valid_from_send_ms ?? 0) };
  } catch {
    return { status: 0 };
  }
}

/** Runs work(token, signal) while the lock is held. The signal is aborted when the lock is lost. */
async function withLock(name, work) {
  let key = randomUUID(); // one for all repetitions: the lock is not taken twice, whichever answer was lost
  let lease;
  for (;;) {
    lease = await post(`/v1/locks/${encodeURIComponent(name)}`, { ttl_ms, wait_ms: 30_000 }, 60_000, key);
    if (lease.status === 200) break;
    if (lease.status === 410) key = randomUUID(); // it was ours, and ended before we heard of it
    else if (lease.status && lease.status !== 409 && lease.status < 500) throw new Error(lease.detail);
    await pause(1000);
  }
  const lost = new AbortController();
  const named = { lease: lease.lease };
  const left = () => Math.max(0, lease.valid_until - performance.now());
  let end = setTimeout(() => lost.abort(), left());
  const renewal = setInterval(async () => {
    const renewed = await post('/v1/renew', named, Math.max(1, Math.floor(left())));
    if (renewed.status === 410) lost.abort();
    if (renewed.status !== 200) return;
    lease = renewed;
    clearTimeout(end);
    end = setTimeout(() => lost.abort(), left());
  }, ttl_ms / 3);
  try {
    return await work(BigInt(lease.token), lost.signal);
  } finally {
    clearInterval(renewal);
    clearTimeout(end);
    await post('/v1/release', named, 10_000);
  }
}

const [name, log, rounds] = process.argv.slice(2);
for (let i = 0; i < Number(rounds); ++i) {
  await withLock(name, async (token, signal) => {
    await appendFile(log, `begin ${process.pid} ${token}\n`);
    await pause(50, undefined, { signal }); // work
    await appendFile(log, `end ${process.pid} ${token}\n`);
  });
}
