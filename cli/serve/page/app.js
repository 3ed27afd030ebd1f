// Puts the page together: the feed fills the store, and at most once per frame what changed is drawn.

import { byId, setAttribute, setText } from './dom.js';
import { signIn, signOut } from './api.js';
import { freeze, now, thaw } from './clock.js';
import { plural, timeOfDay, countdown } from './format.js';
import { BreakDialog } from './break.js';
import { Deadlocks } from './deadlocks.js';
import { Detail } from './detail.js';
import { Engines } from './engines.js';
import { Feed } from './feed.js';
import { Store } from './store.js';
import { Table } from './table.js';

// Sorting 10,000 locks on each of 60 frames a second would serve nobody's eyes.
const TABLE_MS = 200;

const store = new Store();
const breaking = new BreakDialog();
const table = new Table(store, (lock) => open(lock));
const detail = new Detail(store, { on_break: (lock, holder) => breaking.ask(lock, holder), on_close: closed });
const engines = new Engines(store);
const deadlocks = new Deadlocks(store, (lock) => open(lock));
const feed = new Feed(take, show);
const stale = new Set();
let opener = null;
let frame = 0;
let table_at_ms = 0;
let connection = { state: 'connecting' };

function open(lock) {
  if (detail.key === null) opener = document.activeElement;
  detail.open(lock);
  table.mark(lock.key);
}

function closed(key) {
  table.mark(null);
  if (opener?.isConnected && opener !== document.body) opener.focus();
  else table.focus(key);
}

// ---- What the feed says ----

function take(kind, data) {
  if (kind === 'history') return detail.take(data);
  const silent = silentEngines();
  const deadlocked = store.deadlocks.length;
  store.take(kind, data);
  if (kind === 'hello') greet();
  for (const name of silentEngines()) if (!silent.includes(name)) say(`The engine ${name} does not answer.`);
  if (store.deadlocks.length > deadlocked) say('A deadlock was found.');
  for (const each of SHOWS[kind] ?? []) stale.add(each);
  return schedule();
}

// Which parts show what an event brings: the table says of each lock whether its engine answers.
const SHOWS = {
  hello: ['engines', 'deadlocks', 'locks'], engines: ['engines', 'locks'], locks: ['locks'],
  contention: ['contention'], deadlocks: ['deadlocks'],
};

function silentEngines() {
  return [...store.engines.keys()].filter((name) => !store.reachable(name));
}

function greet() {
  setText(byId('version'), store.version);
  byId('read-only').hidden = !store.read_only;
  detail.reload();
}

// A hidden tab gets no frames, so nothing is drawn there.
function schedule() {
  frame ||= requestAnimationFrame(draw);
}

function draw(at_ms) {
  frame = 0;
  if (stale.has('engines')) engines.render();
  else if (stale.has('contention')) engines.draw();
  if (stale.has('deadlocks')) deadlocks.render();
  const early = stale.has('locks') && at_ms - table_at_ms < TABLE_MS;
  if (stale.has('locks') && !early) {
    table_at_ms = at_ms;
    table.render();
    detail.render();
  }
  stale.clear();
  if (!early) return;
  stale.add('locks');
  schedule();
}

// ---- Live or not ----

function show(change) {
  const was = connection.state;
  connection = change;
  if (change.state === 'live') thaw();
  else freeze();
  if (change.state === 'live' && was !== 'live') say('Live.');
  if (was === 'live') say('Not live: the connection to the daemon is lost.');
  if (change.state === 'refused') askToken();
  describe();
}

const STATES = { connecting: 'Connecting…', live: 'Live', waiting: 'Not live', refused: 'Signed out', paused: 'Paused' };

function describe() {
  const { state, retry_at, why } = connection;
  setText(byId('state-text'), STATES[state]);
  setAttribute(byId('state'), 'data-state', state);
  setAttribute(document.body, 'data-live', state === 'live' ? 'yes' : 'no');
  // While it connects again, what it said before stays: a banner that blinks is worse than none.
  if (state === 'connecting') return;
  byId('banner').hidden = state !== 'waiting';
  if (state !== 'waiting') return;
  const seen = store.engines.size ? ` You see what was so at ${timeOfDay(now())}.` : '';
  setText(byId('banner-text'), `Not live. ${why}${seen} Trying again in ${countdown(retry_at - performance.now())}.`);
}

function say(text) {
  setText(byId('spoken'), text);
}

// ---- The token ----

let tried = false;

function askToken() {
  setText(byId('signin-error'), tried ? 'The daemon does not accept this token.' : '');
  signOut();
  if (!byId('signin').open) byId('signin').showModal();
  byId('token').focus();
}

byId('signin-form').addEventListener('submit', (event) => {
  event.preventDefault();
  signIn(byId('token').value.trim());
  tried = true;
  byId('token').value = '';
  byId('signin').close();
  feed.start();
});
byId('signin').addEventListener('cancel', (event) => event.preventDefault());
// A browser does not let a page keep a dialog open that its user has not touched yet: then it is opened again.
byId('signin').addEventListener('close', () => {
  if (connection.state === 'refused') byId('signin').showModal();
});

// ---- Search, filter, sort ----

let spoken = 0;

function filter() {
  Object.assign(table.query, {
    words: byId('search').value, engine: byId('engine').value, mode: byId('mode').value,
    contended: byId('contended').checked, expiring: byId('expiring').checked, sort: byId('sort').value,
  });
  for (const column of byId('columns').querySelectorAll('[data-sort]')) {
    const chosen = column.dataset.sort === table.query.sort;
    setAttribute(column, 'aria-sort', chosen ? (chosen && table.query.sort === 'name' ? 'ascending' : 'descending') : null);
  }
  table.reset();
  // Said once typing has paused.
  clearTimeout(spoken);
  spoken = setTimeout(() => say(`${plural(table.found, 'lock')} found.`), 700);
}

byId('tools').addEventListener('input', filter);
byId('tools').addEventListener('change', filter);
byId('tools').addEventListener('submit', (event) => event.preventDefault());
byId('columns').addEventListener('click', (event) => {
  const column = event.target.closest('[data-sort]');
  if (!column) return;
  byId('sort').value = column.dataset.sort;
  filter();
});
byId('retry').addEventListener('click', () => feed.start());

setInterval(() => {
  if (document.hidden) return;
  describe();
  if (connection.state !== 'live') return;
  table.tick();
  detail.tick();
  deadlocks.tick();
}, 1000);

filter();
clearTimeout(spoken);
feed.start();
