// redis_semaphore.mjs URL: the Mutex of npm's redis-semaphore as a worker.
import { fail, require, serve } from './worker.mjs';

const { Redis } = require('ioredis');
const { Mutex } = require('redis-semaphore');

const [host, port] = process.argv[2].split('://')[1].split(':');
const client = new Redis(Number(port), host);
await client.ping().catch(fail);
serve((name) => async () => {
  const mutex = new Mutex(client, name, { lockTimeout: 30_000, acquireTimeout: 600_000 });
  await mutex.acquire();
  return () => mutex.release();
});
