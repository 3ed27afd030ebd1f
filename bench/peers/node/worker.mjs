// Shared by the workers in JavaScript: the lines of ../../common/worker.h.
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

// Packages live outside of the repository (../setup).
export const require = createRequire(path.join(process.env.HOLDFAST_PEERS ?? '.', 'package.json'));

const now = () => process.hrtime.bigint(); // CLOCK_MONOTONIC
const sleep = (us) => new Promise((done) => setTimeout(done, us / 1000));

export function fail(error) {
  console.log(`failed: ${String(error?.message ?? error).split('\n')[0]}`);
  process.exit(1);
}

// `make(name)` returns a function that acquires and resolves to one that releases.
export function serve(make) {
  let over = false;
  let passes = [];
  let contenders = [];

  async function pairs(name, seconds) {
    const acquire = make(name);
    const times = [];
    const begin = now();
    const end = begin + BigInt(Math.round(seconds * 1e9));
    let before = begin;
    while (before < end) {
      const release = await acquire();
      await release();
      const after = now();
      times.push(Number(after - before));
      before = after;
    }
    times.sort((a, b) => a - b);
    const rate = times.length / (Number(before - begin) / 1e9);
    return `${rate.toFixed(1)} ${(times[times.length >> 1] / 1e3).toFixed(2)}`;
  }

  async function flight(count, seconds) {
    over = false;
    let done = 0;
    const work = async (acquire) => {
      while (!over) {
        const release = await acquire();
        await release();
        done += 1;
      }
    };
    const working = Array.from({ length: count }, (_, i) => work(make(`flight-${i}`)));
    await sleep((seconds / 5) * 1e6);
    const before = done;
    const begin = now();
    await sleep(seconds * 1e6);
    const rate = (done - before) / (Number(now() - begin) / 1e9);
    over = true;
    await Promise.all(working);
    return rate.toFixed(1);
  }

  async function contendAlone(acquire, number, holdUs, pauseUs) {
    while (!over) {
      const asked = now();
      const release = await acquire();
      const got = now();
      if (holdUs > 0 && !over) await sleep(holdUs);
      const released = now();
      await release();
      passes.push(`${number} ${asked} ${got} ${released}`);
      if (pauseUs > 0 && !over) await sleep(pauseUs);
    }
  }

  function contend(name, count, holdUs, pauseUs) {
    over = false;
    passes = [];
    contenders = Array.from({ length: count }, (_, i) =>
      contendAlone(make(name), i, holdUs, pauseUs).catch(fail));
    return 'ok';
  }

  async function stop() {
    over = true;
    await Promise.all(contenders);
    return [passes.length, ...passes].join(' ');
  }

  const verbs = {
    pairs: (name, seconds) => pairs(name, Number(seconds)),
    threads: (count, seconds) => flight(Number(count), Number(seconds)),
    flight: (count, seconds) => flight(Number(count), Number(seconds)),
    contend: (name, ...numbers) => contend(name, ...numbers.map(Number)),
    stop,
  };
  console.log('ready');
  readline.createInterface({ input: process.stdin }).on('line', async (line) => {
    const [verb, ...words] = line.split(' ');
    try {
      console.log(verbs[verb] ? await verbs[verb](...words) : 'what?');
    } catch (error) {
      fail(error);
    }
  }).on('close', () => process.exit(0));
}
