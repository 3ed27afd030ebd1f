// The live feed: GET v1/feed, read with fetch, because EventSource cannot send an Authorization header.
//
//   connecting ──hello──► live ──end, error, silence──► waiting ──backoff──► connecting
//        └──401──► refused ──start()──► connecting        any ──tab hidden──► paused ──tab seen──► connecting

import { Problem, address, parse, request } from './api.js';

const SILENCE_MS = 25000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15000;
const HIDDEN_MS = 30000;

/** Cuts a stream of text into server-sent events; text may end anywhere in a line. */
export class EventParser {
  #pieces = [];
  #event = '';
  #data = [];

  constructor(on_event) {
    this.on_event = on_event;
  }

  push(text) {
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#pieces.push(text.slice(from, end));
      // Joined once per line: a full picture of 10,000 locks is one line of megabytes.
      this.#line(this.#pieces.join(''));
      this.#pieces = [];
      from = end + 1;
    }
    if (from < text.length) this.#pieces.push(text.slice(from));
  }

  #line(line) {
    if (line.endsWith('\r')) line = line.slice(0, -1);
    if (line === '') {
      if (this.#data.length) this.on_event(this.#event || 'message', this.#data.join('\n'));
      this.#event = '';
      this.#data = [];
    } else if (line.startsWith('data:')) {
      this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
    } else if (line.startsWith('event:')) {
      this.#event = line.slice(6).trim();
    }
  }
}

export class Feed {
  state = 'connecting';
  #abort = null;
  #failures = 0;
  #timer = 0;
  #silence = 0;

  /** on_event(kind, data) for each event; on_state({state, retry_at, why}) for each change. */
  constructor(on_event, on_state) {
    this.on_event = on_event;
    this.on_state = on_state;
    document.addEventListener('visibilitychange', () => this.#seen());
  }

  /** Connects now, whatever was planned. */
  start() {
    this.#stop();
    const abort = new AbortController();
    this.#abort = abort;
    this.#become('connecting');
    this.#read(abort).then(
      () => this.#failed(abort, new Error('The daemon ended the feed.')),
      (error) => this.#failed(abort, error),
    );
  }

  #stop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    const abort = this.#abort;
    this.#abort = null;
    abort?.abort();
  }

  async #read(abort) {
    this.#hush(abort);
    const response = await request(address('v1/feed'), { accept: 'text/event-stream', signal: abort.signal });
    const parser = new EventParser((kind, data) => this.#event(kind, data));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (abort !== this.#abort) return;
      this.#hush(abort);
      parser.push(value);
    }
  }

  #event(kind, data) {
    const value = parse(data);
    if (kind === 'hello') {
      this.#failures = 0;
      this.#become('live');
    }
    this.on_event(kind, value);
  }

  // A comment comes every 10 s: a daemon that is silent for this long is dead, or cut off.
  #hush(abort) {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#failed(abort, new Error('The daemon has been silent for 25 s.')), SILENCE_MS);
  }

  #failed(abort, error) {
    if (abort !== this.#abort) return;
    this.#stop();
    if (error instanceof Problem && error.status === 401) return this.#become('refused', { why: error.message });
    const longest_ms = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures++);
    const pause_ms = Math.max(longest_ms * (0.5 + Math.random() / 2), (error.retry_after_s ?? 0) * 1000);
    this.#timer = setTimeout(() => this.start(), pause_ms);
    const why = error instanceof TypeError ? 'The daemon does not answer.' : error.message;
    return this.#become('waiting', { retry_at: performance.now() + pause_ms, why });
  }

  // Nobody looks: then nobody needs to be told.
  #seen() {
    if (document.hidden) {
      if (this.state !== 'live') return;
      this.#timer = setTimeout(() => {
        this.#stop();
        this.#become('paused');
      }, HIDDEN_MS);
    } else if (this.state === 'paused') {
      this.start();
    } else if (this.state === 'live') {
      clearTimeout(this.#timer);
    }
  }

  #become(state, more) {
    this.state = state;
    this.on_state({ state, ...more });
  }
}
