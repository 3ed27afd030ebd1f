// Owners who wait for each other, drawn as a cycle across locks and engines.

import { bdi, byId, h, s, setText } from './dom.js';
import { duration, plural } from './format.js';
import { now } from './clock.js';
import { keyOf } from './store.js';

const NODE_WIDTH = 120;
const NODE_HEIGHT = 30;
const MOST_DRAWN = 12; // more would lie on each other; the list has them all

function short(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

export class Deadlocks {
  constructor(store, on_open) {
    Object.assign(this, { store, on_open, section: byId('deadlocks'), list: byId('deadlock-list') });
  }

  #waits = [];

  render() {
    const { deadlocks } = this.store;
    this.section.hidden = deadlocks.length === 0;
    this.#waits = [];
    this.list.replaceChildren(...deadlocks.map((deadlock) => this.#item(deadlock)));
    this.tick();
  }

  tick() {
    for (const { waited, since_ms } of this.#waits) setText(waited, `, for ${duration(now() - since_ms)}`);
  }

  #item(deadlock) {
    const owners = new Map(deadlock.owners.map((owner) => [owner.owner, owner.label || owner.owner]));
    const width = Math.max(240, Math.min(520, this.section.clientWidth - 32));
    return h('li', { class: 'deadlock' }, draw(deadlock, owners, width),
      h('div', {},
        deadlock.certain === false ? h('p', { class: 'faint' }, 'Perhaps: one owner may have several threads, of which another can go on.') : null,
        h('ul', { class: 'plain' }, deadlock.waits.map((wait) => this.#wait(wait, owners))),
        deadlock.behind > 0 ? h('p', { class: 'faint' }, `${plural(deadlock.behind, 'more owner')} cannot go on before this ends.`) : null,
        deadlock.youngest === undefined ? null : h('p', {}, h('span', { class: 'chip' }, 'youngest'), ' ',
          bdi(owners.get(deadlock.youngest) ?? deadlock.youngest), h('span', { class: 'faint' }, ' began to wait last.'))));
  }

  #wait(wait, owners) {
    const key = keyOf(wait.engine, wait.path);
    const open = () => this.on_open(this.store.locks.get(key) ?? { key, ...wait });
    const name = ({ owner, label }) => owners.get(owner) ?? (label || owner);
    const holders = wait.for.filter(({ token }) => token !== undefined).map(name);
    const ahead = wait.for.filter(({ token }) => token === undefined).map(name);
    const waited = h('span', {});
    if (wait.since_ms !== undefined) this.#waits.push({ waited, since_ms: wait.since_ms });
    return h('li', {}, h('b', {}, bdi(owners.get(wait.owner) ?? wait.label)), ' waits for ',
      h('button', { type: 'button', class: 'name', 'aria-haspopup': 'dialog', onclick: open }, bdi(wait.name)), ' on ', bdi(wait.engine),
      holders.length ? [', held by ', h('b', {}, bdi(holders.join(', ')))] : null,
      ahead.length ? [', behind ', h('b', {}, bdi(ahead.join(', '))), ' in the queue'] : null, waited);
  }
}

function draw(deadlock, owners, width) {
  const names = [...owners.keys()];
  if (names.length > MOST_DRAWN) return null;
  const height = names.length > 2 ? Math.max(230, names.length * 50) : 110;
  const svg = s('svg', { class: 'cycle', role: 'img', width, height, viewBox: `0 0 ${width} ${height}` },
    s('title', {}, `A cycle of ${names.length} owners: ${[...owners.values()].join(' waits for ')} waits for the first`));
  const at = positions(names, width, height);
  for (const wait of deadlock.waits) for (const holder of wait.for) {
    if (at.has(wait.owner) && at.has(holder.owner)) svg.append(...arrow(at.get(wait.owner), at.get(holder.owner), wait));
  }
  for (const name of names) svg.append(node(at.get(name), owners.get(name), name === deadlock.youngest));
  return svg;
}

function positions(names, width, height) {
  const first = names.length === 2 ? Math.PI : -Math.PI / 2;
  const rx = width / 2 - NODE_WIDTH / 2 - 2;
  const ry = height / 2 - NODE_HEIGHT / 2 - 2;
  return new Map(names.map((name, index) => {
    const angle = first + (2 * Math.PI * index) / names.length;
    return [name, { x: width / 2 + rx * Math.cos(angle), y: height / 2 + ry * Math.sin(angle) }];
  }));
}

function node({ x, y }, label, youngest) {
  return s('g', { class: youngest ? 'owner youngest' : 'owner' },
    s('title', {}, youngest ? `${label}, the youngest` : label),
    s('rect', { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2, width: NODE_WIDTH, height: NODE_HEIGHT, rx: 8 }),
    s('text', { x, y: y + 4, 'text-anchor': 'middle' }, short(label, 16)));
}

// A curve that bends outwards, so that two owners who wait for each other have two arrows.
function arrow(from, to, wait) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.hypot(dx, dy) || 1;
  const bend = 46;
  const mid = { x: (from.x + to.x) / 2 + (dy / length) * bend, y: (from.y + to.y) / 2 - (dx / length) * bend };
  const tail = edge(from, mid);
  const tip = edge(to, mid);
  const angle = Math.atan2(tip.y - mid.y, tip.x - mid.x);
  const wing = (turn) => `${(tip.x - 9 * Math.cos(angle + turn)).toFixed(1)} ${(tip.y - 9 * Math.sin(angle + turn)).toFixed(1)}`;
  const text = { x: (tail.x + 2 * mid.x + tip.x) / 4, y: (tail.y + 2 * mid.y + tip.y) / 4 };
  return [
    s('path', { class: 'arrow', d: `M${tail.x.toFixed(1)} ${tail.y.toFixed(1)}Q${mid.x.toFixed(1)} ${mid.y.toFixed(1)} ${tip.x.toFixed(1)} ${tip.y.toFixed(1)}` }),
    s('path', { class: 'arrow', d: `M${wing(0.45)}L${tip.x.toFixed(1)} ${tip.y.toFixed(1)}L${wing(-0.45)}` }),
    s('text', { class: 'wait-name', x: text.x.toFixed(1), y: (text.y + 4).toFixed(1), 'text-anchor': 'middle' }, short(wait.name, 18)),
  ];
}

// Where the line from the middle of a node towards `other` leaves its box.
function edge(node_at, other) {
  const dx = other.x - node_at.x;
  const dy = other.y - node_at.y;
  const part = Math.min((NODE_WIDTH / 2 + 4) / Math.abs(dx || 1e-9), (NODE_HEIGHT / 2 + 4) / Math.abs(dy || 1e-9));
  return { x: node_at.x + dx * part, y: node_at.y + dy * part };
}
