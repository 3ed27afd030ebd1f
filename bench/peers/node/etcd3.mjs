// etcd3.mjs URL: the lock of npm's etcd3 as a worker. It does not wait by itself: tries are repeated
// until one succeeds.
import { fail, require, serve } from './worker.mjs';

const { Etcd3, EtcdLockFailedError } = require('etcd3');

const hosts = process.argv[2].split('://')[1].split(',').map((host) => `http://${host}`);
const client = new Etcd3({ hosts });
await client.get('ready').catch(fail);
serve((name) => async () => {
  for (;;) {
    const lock = client.lock(name).ttl(30);
    try {
      await lock.acquire();
      return () => lock.release();
    } catch (error) {
      if (!(error instanceof EtcdLockFailedError)) throw error;
      await new Promise((done) => setTimeout(done, 1));
    }
  }
});
