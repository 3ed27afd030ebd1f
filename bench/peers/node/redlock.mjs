// redlock.mjs URL: npm's redlock as a worker, on one node or on several (redlock://HOST:PORT,…). At
// its defaults, but for the number of tries, which has no end: who waits shall wait.
import { fail, require, serve } from './worker.mjs';

const { Redis } = require('ioredis');
const { default: Redlock } = require('redlock');

const hosts = process.argv[2].split('://')[1].split(',').map((host) => host.split(':'));
const clients = hosts.map(([host, port]) => new Redis(Number(port), host));
await Promise.all(clients.map((client) => client.ping())).catch(fail);
const redlock = new Redlock(clients, { retryCount: -1 });
redlock.on('error', () => {}); // It tells of every try that met a lock.
serve((name) => async () => {
  const lock = await redlock.acquire([name], 30_000);
  return () => lock.release();
});
