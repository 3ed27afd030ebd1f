// The table of locks: at most some hundred rows of however many there are, each updated in place.

import { bdi, byId, h, reconcile, setAttribute, setText } from './dom.js';
import { count, countdown, duration, plural } from './format.js';
import { now } from './clock.js';
import { expiring, left, select } from './query.js';

const STEP = 100;

function cell(label, attributes, ...children) {
  return h('td', { role: 'cell', 'data-label': label, ...attributes }, ...children);
}

/** A bar that shrinks, and its text. The text says it all, so the bar is nothing to a screen reader. */
export class TimeBar {
  constructor() {
    this.fill = h('span', { class: 'fill' });
    this.text = h('span', { class: 'left-text' });
    this.node = h('span', { class: 'left' }, h('span', { class: 'bar', 'aria-hidden': 'true' }, this.fill), this.text);
  }

  tick(lock, now_ms) {
    const part = left(lock, now_ms);
    setAttribute(this.node, 'data-late', part === null ? null : expiring(lock, now_ms) ? 'yes' : 'no');
    // Without an end, as the lock of a database session: it lasts as long as the holder's connection.
    setText(this.text, part === null ? 'no end' : countdown(lock.expires_at_ms - now_ms));
    this.fill.style.transform = `scaleX(${(part ?? 0).toFixed(3)})`;
    this.fill.hidden = part === null;
  }
}

class Row {
  version = -1;

  constructor(lock, on_open) {
    this.name = bdi('');
    this.button = h('button', { type: 'button', class: 'name', 'aria-haspopup': 'dialog', onclick: () => on_open(this.lock) }, this.name);
    this.engine = cell('Engine');
    this.mode = cell('Mode');
    this.holder = bdi('', { class: 'holder' });
    this.others = h('span', { class: 'faint' });
    this.token = cell('Token', { class: 'number' });
    this.age = cell('Held for', { class: 'number' });
    this.bar = new TimeBar();
    this.waiters = h('span', {});
    this.wait = cell('Wait', { class: 'number' });
    this.node = h('tr', { role: 'row' },
      h('th', { role: 'rowheader', scope: 'row' }, this.button), this.engine, this.mode,
      cell('Holder', {}, this.holder, this.others), this.token, this.age,
      cell('Time left', {}, this.bar.node), cell('Waiters', { class: 'number' }, this.waiters), this.wait);
    this.node.addEventListener('click', (event) => {
      if (!event.target.closest('button') && !String(getSelection())) on_open(this.lock);
    });
    this.node.addEventListener('animationend', () => this.node.classList.remove('handed'));
  }

  update(lock, store) {
    this.lock = lock;
    this.#reach(store);
    if (this.version === lock.version) return;
    const fresh = this.version === -1;
    this.version = lock.version;
    setText(this.name, lock.name);
    const first = lock.holders[0];
    setText(this.mode, first ? modeOf(lock) : '–');
    setText(this.holder, first ? first.label || 'without a label' : 'nobody');
    setText(this.others, lock.holders.length > 1 ? ` and ${count(lock.holders.length - 1)} more` : '');
    setText(this.token, first ? lock.token : '–');
    setText(this.waiters, lock.waiters.length ? count(lock.waiters.length) : '–');
    setAttribute(this.waiters, 'class', lock.waiters.length ? 'badge' : 'faint');
    setAttribute(this.node, 'data-waited', lock.waiters.length ? 'yes' : 'no');
    if (lock.handed && !fresh) this.node.classList.add('handed');
    this.tick(now());
  }

  // Told in the row itself: after scrolling down nobody sees the engine's card.
  #reach(store) {
    const reachable = store.reachable(this.lock.engine);
    setAttribute(this.node, 'data-stale', reachable ? null : 'yes');
    setText(this.engine, reachable ? this.lock.engine : `${this.lock.engine} (unreachable)`);
  }

  tick(now_ms) {
    setText(this.age, duration(now_ms - this.lock.since_ms));
    setText(this.wait, this.lock.waiters.length ? duration(now_ms - this.lock.waiting_since_ms) : '–');
    this.bar.tick(this.lock, now_ms);
  }
}

function modeOf(lock) {
  const mode = lock.holders[0].mode;
  return mode === 'permit' && lock.permits ? `${lock.holders.length} of ${plural(lock.permits, 'permit')}` : mode;
}

export class Table {
  query = { words: '', engine: '', mode: '', contended: false, expiring: false, sort: 'waiters' };
  #limit = STEP;
  #seen = new Set();
  #rows = new Map();
  #selected = null;

  constructor(store, on_open) {
    this.store = store;
    this.on_open = on_open;
    this.body = byId('rows');
    // Only rows that somebody can see are ticked.
    this.observer = new IntersectionObserver((entries) => entries.forEach((entry) => this.#see(entry)));
    byId('more').addEventListener('click', () => this.#showMore());
    this.body.addEventListener('keydown', (event) => this.#walk(event));
  }

  /** Shows from the first row on again; for a changed query. */
  reset() {
    this.#limit = STEP;
    this.render();
  }

  render() {
    const { store, query } = this;
    const matching = select(store.locks.values(), query, now());
    const shown = matching.slice(0, this.#limit);
    this.#rows = reconcile(this.body, shown, (lock) => lock.key, (lock) => this.#create(lock), (row, lock) => row.update(lock, store));
    this.found = matching.length;
    this.#describe(matching.length, shown.length);
    this.mark(this.#selected);
  }

  #create(lock) {
    const row = new Row(lock, this.on_open);
    row.node.row = row;
    this.observer.observe(row.node);
    return row;
  }

  #see(entry) {
    const row = entry.target.row;
    if (entry.isIntersecting) {
      this.#seen.add(row);
      row.tick(now());
    } else {
      this.#seen.delete(row);
      if (!entry.target.isConnected) this.observer.unobserve(entry.target);
    }
  }

  #describe(found, shown) {
    const all = this.store.locks.size;
    setText(byId('count'), found === all ? plural(all, 'lock') : `${count(found)} of ${plural(all, 'lock')}`);
    const more = byId('more');
    const rest = found - shown;
    more.hidden = rest <= 0;
    setText(more, `Show ${count(Math.min(STEP, rest))} more of ${count(rest)}`);
    byId('nothing').hidden = found > 0;
    setText(byId('nothing'), all ? 'No lock matches. Take a filter away.' : 'Nothing is locked now.');
  }

  /** Marks the row of the lock that the drill-down shows. */
  mark(key) {
    this.#selected = key;
    for (const [each, row] of this.#rows) setAttribute(row.node, 'aria-current', each === key ? 'true' : null);
  }

  focus(key) {
    (this.#rows.get(key)?.button ?? byId('locks')).focus();
  }

  tick() {
    // A lock becomes late by itself, without a word from the daemon.
    if (this.query.expiring) this.render();
    const now_ms = now();
    for (const row of this.#seen) row.tick(now_ms);
  }

  // The focus goes to the first of the new rows, where reading goes on.
  #showMore() {
    const first = this.#limit;
    this.#limit += STEP;
    this.render();
    this.body.children[first]?.querySelector('button').focus();
  }

  #walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest('tr');
    if (!step || !row || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
    if (!next) return;
    event.preventDefault();
    next.querySelector('button').focus();
  }
}
