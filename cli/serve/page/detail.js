// The drill-down of one lock: holders, waiters in order, history drawn and listed. Beside the table where there is
// room, over it where there is not.

import { bdi, byId, h, reconcile, setAttribute, setText } from './dom.js';
import { duration, plural, timeOfDay } from './format.js';
import { address, get } from './api.js';
import { now } from './clock.js';
import { TimeBar } from './table.js';
import { drawTimeline, words } from './timeline.js';

const MOST_WAITERS = 50;
const MOST_EVENTS = 200;
const NOTE = 'The daemon looks about once a second: what came and went between two looks is missing here.';
const beside = matchMedia('(min-width: 1100px)');

function facts(pairs) {
  return pairs.filter(([, value]) => value !== undefined && value !== null && value !== '').flatMap(([key, value]) => [h('dt', {}, bdi(key)), h('dd', {}, bdi(String(value)))]);
}

class Holder {
  constructor(detail, holder) {
    this.label = bdi('', { class: 'label' });
    this.age = h('dd', {});
    this.bar = new TimeBar();
    this.facts = h('dl', { class: 'facts' });
    this.break_button = h('button', { type: 'button', class: 'danger', 'aria-haspopup': 'dialog', onclick: () => detail.on_break(detail.lock, this.holder) },
      'Break…', h('span', { class: 'hidden' }, ` the hold of ${holder.label}, token ${holder.token}`));
    this.node = h('li', { class: 'holder-card' }, h('div', { class: 'card-head' }, this.label, this.break_button), this.bar.node, this.facts);
  }

  update(detail, holder) {
    this.holder = holder;
    setText(this.label, holder.label || 'without a label');
    this.break_button.hidden = detail.store.read_only;
    const text = JSON.stringify([holder.token, holder.mode, holder.owner, holder.details]);
    if (text !== this.text) {
      this.text = text;
      this.facts.replaceChildren(h('dt', {}, 'Held for'), this.age,
        ...facts([['Token', holder.token], ['Mode', holder.mode], ['Owner', holder.owner], ...Object.entries(holder.details ?? {})]));
    }
    this.tick(detail.lock);
  }

  tick(lock) {
    const now_ms = now();
    setText(this.age, duration(now_ms - this.holder.held_since_ms));
    this.bar.tick({ span_ms: lock.span_ms, expires_at_ms: this.holder.expires_at_ms ?? null }, now_ms);
  }
}

class Waiter {
  constructor() {
    this.label = bdi('', { class: 'label' });
    this.wait = h('span', { class: 'faint' });
    this.node = h('li', {}, this.label, ' ', this.wait);
  }

  update(waiter) {
    this.waiter = waiter;
    setText(this.label, waiter.label || 'without a label');
    this.tick();
  }

  tick() {
    const { mode, waiting_since_ms } = this.waiter;
    setText(this.wait, Number.isFinite(waiting_since_ms) ? `${mode}, for ${duration(now() - waiting_since_ms)}` : mode);
  }
}

export class Detail {
  key = null;
  lock = null;
  #holders = new Map();
  #waiters = new Map();
  #events = [];

  constructor(store, { on_break, on_close }) {
    Object.assign(this, { store, on_break, on_close, dialog: byId('detail') });
    this.dialog.addEventListener('cancel', (event) => { event.preventDefault(); this.close(); });
    this.dialog.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') { event.preventDefault(); this.close(); }
    });
    beside.addEventListener('change', () => this.#place());
    new ResizeObserver(() => this.#draw()).observe(this.dialog);
    this.#build();
  }

  #build() {
    this.name = bdi('', { id: 'detail-name' });
    this.engine = h('span', { class: 'chip' });
    this.summary = h('p', { class: 'faint' });
    this.close_button = h('button', { type: 'button', class: 'close', 'aria-label': 'Close', onclick: () => this.close() }, '✕');
    this.holder_list = h('ul', { class: 'plain', 'aria-label': 'Holders' });
    this.waiter_list = h('ol', { class: 'queue', 'aria-label': 'Waiters, in the order in which they will be served' });
    this.waiter_rest = h('p', { class: 'faint' });
    this.drawing = h('div', { class: 'drawing' });
    this.event_list = h('ol', { class: 'events plain', 'aria-label': 'History, newest first' });
    this.event_note = h('p', { class: 'note faint' });
    this.waiter_title = h('h3', {}, 'Waiters');
    this.dialog.replaceChildren(
      h('div', { class: 'detail-head' }, h('h2', {}, this.name), this.close_button), h('p', {}, this.engine), this.summary,
      h('h3', {}, 'Holders'), this.holder_list, this.waiter_title, this.waiter_list, this.waiter_rest,
      h('h3', {}, 'History'), this.drawing, this.event_note, this.event_list);
  }

  open(lock) {
    if (this.key !== lock.key) {
      this.#abort?.abort();
      this.#events = [];
      this.event_list.replaceChildren();
      this.dialog.scrollTop = 0;
    }
    this.key = lock.key;
    this.identity = { engine: lock.engine, path: lock.path, name: lock.name };
    setText(this.name, lock.name);
    setText(this.engine, lock.engine);
    this.render();
    this.#place();
    this.close_button.focus();
    this.#load();
  }

  close() {
    if (this.key === null) return;
    const key = this.key;
    this.key = this.lock = null;
    this.#abort?.abort();
    this.dialog.close();
    document.body.classList.remove('beside');
    this.on_close(key);
  }

  #place() {
    if (this.key === null) return;
    const modal = this.dialog.matches(':modal');
    if (!this.dialog.open || modal === beside.matches) {
      this.dialog.close();
      if (beside.matches) this.dialog.show();
      else this.dialog.showModal();
    }
    document.body.classList.toggle('beside', beside.matches);
  }

  #abort = null;

  /** Asks for the history anew: after opening, and after a time without a feed. */
  async #load() {
    const abort = this.#abort = new AbortController();
    const { engine, path } = this.identity;
    try {
      const { events } = await get(address('v1/history', { engine }, path), abort.signal);
      if (abort !== this.#abort) return;
      this.#events = merged(this.#events, events ?? []);
      setText(this.event_note, NOTE);
    } catch (error) {
      if (abort.signal.aborted) return;
      setText(this.event_note, error.message);
    }
    this.#list();
  }

  reload() {
    if (this.key !== null) this.#load();
  }

  /** An event of the feed. */
  take(event) {
    if (this.key === null || event.engine !== this.identity.engine || event.path !== this.identity.path) return;
    this.#events.push(event);
    if (this.#events.length > MOST_EVENTS) this.#events.shift();
    this.#list();
  }

  render() {
    if (this.key === null) return;
    const lock = this.store.locks.get(this.key) ?? null;
    const present = lock ?? { holders: [], waiters: [] };
    this.lock = lock ? lock : { ...this.identity, ...present };
    setText(this.summary, lock ? this.#summaryOf(lock) : 'Nobody holds it now, and nobody waits.');
    this.#holders = reconcile(this.holder_list, present.holders, (holder) => String(holder.token),
      (holder) => new Holder(this, holder), (row, holder) => row.update(this, holder));
    const shown = present.waiters.slice(0, MOST_WAITERS).map((waiter, index) => ({ waiter, index }));
    this.#waiters = reconcile(this.waiter_list, shown, ({ index }) => index, () => new Waiter(), (row, { waiter }) => row.update(waiter));
    const rest = present.waiters.length - shown.length;
    setText(this.waiter_rest, present.waiters.length === 0 ? 'Nobody waits.' : rest > 0 ? `and ${plural(rest, 'waiter')} more` : '');
    this.#draw();
  }

  #summaryOf(lock) {
    const parts = [plural(lock.holders.length, 'holder'), plural(lock.waiters.length, 'waiter')];
    if (!this.store.reachable(lock.engine)) parts.unshift('The engine does not answer. When it last did');
    if (lock.permits) parts.push(`${plural(lock.permits, 'permit')} in all`);
    return parts.join(', ');
  }

  tick() {
    if (this.key === null) return;
    for (const row of this.#holders.values()) row.tick(this.lock);
    for (const row of this.#waiters.values()) row.tick();
    this.#draw();
  }

  #draw() {
    if (this.key === null) return;
    const width = Math.floor(this.drawing.clientWidth);
    if (width < 40) return;
    const svg = drawTimeline(this.#events, this.store.locks.get(this.key) ?? null, now(), width);
    this.drawing.replaceChildren(svg ?? h('p', { class: 'faint' }, 'Nothing has been seen of it yet.'));
  }

  #list() {
    const newest = [...this.#events].reverse();
    const labels = new Map(newest.filter(({ label }) => label).map(({ token, label }) => [token, label]));
    this.event_list.replaceChildren(...newest.map((event) => entry(event, event.label ?? labels.get(event.token) ?? '')));
    setAttribute(this.event_list, 'hidden', newest.length ? null : '');
    this.#draw();
  }
}

// The feed may be ahead of an answer, and a daemon that was started again does not know what the last one saw.
function merged(known, answered) {
  const texts = new Set(answered.map((event) => JSON.stringify(event)));
  const others = known.filter((event) => !texts.has(JSON.stringify(event)));
  return [...others, ...answered].sort((a, b) => a.at_ms - b.at_ms).slice(-MOST_EVENTS);
}

function entry(event, label) {
  const more = [];
  if (event.token !== undefined) more.push(`token ${event.token}`);
  if (event.held_for_ms !== undefined) more.push(`held for ${duration(event.held_for_ms)}`);
  if (event.waited_for_ms) more.push(`waited for ${duration(event.waited_for_ms)}`);
  return h('li', {},
    h('time', { datetime: new Date(event.at_ms).toISOString() }, timeOfDay(event.at_ms)), ' ',
    h('span', { class: 'kind', 'data-kind': event.kind }, words(event.kind)), ' ', bdi(label),
    h('span', { class: 'faint' }, more.length ? ` ${more.join(', ')}` : ''),
    event.reason ? h('span', { class: 'reason' }, ' “', bdi(event.reason), '”') : null);
}
