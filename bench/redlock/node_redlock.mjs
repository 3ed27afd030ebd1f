// node_redlock.mjs WORKERS SECONDS PORT...: npm's redlock over these nodes, at its defaults. Each
// worker acquires and releases a name of its own again and again; prints the pairs per second.
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.env.HOLDFAST_PEERS ?? '.', 'package.json'));
const { Redis } = require('ioredis');
const Redlock = require('redlock');

const [workers, seconds, ...ports] = process.argv.slice(2).map(Number);
const clients = ports.map((port) => new Redis(port, '127.0.0.1'));
const redlock = new Redlock(clients);

let pairs = 0;
let over = false;
async function work(name) {
  while (!over) {
    const lock = await redlock.acquire(name, 30_000);
    await lock.unlock();
    pairs += 1;
  }
}

const working = Array.from({ length: workers }, (_, i) => work(`peer-${i}`));
await new Promise((done) => setTimeout(done, 300)); // warm-up
const before = pairs;
const begin = process.hrtime.bigint();
await new Promise((done) => setTimeout(done, seconds * 1000));
const took = Number(process.hrtime.bigint() - begin) / 1e9;
console.log(((pairs - before) / took).toFixed(1));
over = true;
await Promise.all(working);
for (const client of clients) client.disconnect();
