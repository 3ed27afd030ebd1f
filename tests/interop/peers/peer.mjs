// Shared by the peers in JavaScript: packages from the build directory, the section, the lines.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

// Where ../setup-node has put them. An `import` would look beside this file only.
const require = createRequire(path.join(process.env.HOLDFAST_INTEROP_NODE ?? '.', 'package.json'));

export const POLL_MS = 1; // neither library has another way to wait
export const SECTIONS_TTL_MS = 30_000;

// A package by name. One that is missing ends the peer with a line that the test shows.
export function load(name) {
  try {
    return require(name);
  } catch (error) {
    end(error);
  }
}

function end(error) {
  fs.writeSync(1, `failed: ${String(error.message ?? error).split('\n')[0]}\n`);
  process.exit(1);
}

// The critical section: see section.h.
class Section {
  constructor(file, who) {
    Object.assign(this, { file, who });
  }

  async awaitGo() {
    while (!fs.existsSync(`${this.file}.go`)) await sleep(1);
  }

  enter() {
    try {
      fs.closeSync(fs.openSync(`${this.file}.inside`, 'wx', 0o600));
      return true;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      return false;
    }
  }

  goThrough() {
    const alone = this.enter();
    const number = fs.openSync(this.file, fs.constants.O_CREAT | fs.constants.O_RDWR, 0o600);
    const bytes = Buffer.alloc(32);
    const before = Number(bytes.toString('latin1', 0, fs.readSync(number, bytes, 0, 32, 0)) || 0);
    fs.appendFileSync(`${this.file}.log`, alone ? this.who : `!${this.who}`);
    fs.writeSync(number, String(before + 1), 0);
    fs.closeSync(number);
    if (alone) fs.unlinkSync(`${this.file}.inside`);
  }
}

async function sections(peer, who, [name, file, count]) {
  const section = new Section(file, who);
  await section.awaitGo();
  let failures = 0;
  for (let i = 0; i < Number(count); ++i) {
    if (!(await peer.section(name, () => section.goThrough()))) ++failures;
  }
  return `done ${failures}`;
}

// Answers the lines on stdin until it ends. peer.acquire(name, ttl), .try(name, ttl), .release() and
// .renew(ttl) return the answer; peer.section(name, work) takes the lock, calls work, releases, and
// returns whether it held the lock to the end. `who` is the peer's letter in the log.
export async function serve(who, client, peer) {
  try {
    await client.ping();
    console.log('ready');
    for await (const line of readline.createInterface({ input: process.stdin })) {
      const [verb, ...words] = line.split(' ');
      console.log(
        verb === 'sections' ? await sections(peer, who, words) : await peer[verb](...words),
      );
    }
    client.disconnect();
  } catch (error) {
    end(error);
  }
}
