// A card per engine: reachable or not, how much is held and waited for, its guarantees, and what `doctor` says.

import { bdi, byId, h, reconcile, setAttribute, setText } from './dom.js';
import { count, duration } from './format.js';
import { address, get } from './api.js';
import { now } from './clock.js';
import { isDown } from './store.js';
import { SPAN_MS, drawCurve, newCurve } from './chart.js';

const GUARANTEES = [
  ['exclusion', 'Exclusion'], ['token', 'Token'], ['wake_up', 'Wake-up'], ['fairness', 'Order of waiters'],
  ['shared_mode', 'Shared locks'], ['permit_mode', 'Permits'], ['records', 'Knows holders'], ['recipe', 'Recipe'],
  ['lowered_because', 'Lowered because'], ['notes', 'Notes'],
];

function said(value) {
  if (value === true) return 'yes';
  if (value === false) return 'no';
  const text = String(value);
  // "first_come_first_served" is a word of ours; in a sentence an underscore belongs to a name.
  return text.includes(' ') ? text : text.replaceAll('_', ' ');
}

// A sentence has the whole width.
function fact(title, text) {
  const attributes = { class: text.length > 40 ? 'wide' : null };
  return [h('dt', attributes, title), h('dd', attributes, bdi(text))];
}

class Card {
  constructor(engine, store) {
    this.store = store;
    this.name = engine.name;
    this.address = bdi('', { class: 'url faint' });
    this.status = h('span', { class: 'reach' });
    this.locks = h('b', {});
    this.waiters = h('b', {});
    this.longest = h('b', {});
    this.error = h('p', { class: 'error', hidden: true });
    this.queue = newCurve();
    this.wait = newCurve();
    this.most_queue = h('span', { class: 'most faint' });
    this.most_wait = h('span', { class: 'most faint' });
    this.list = h('dl', { class: 'facts' });
    this.doctor = new Doctor(engine.name);
    this.guarantees = '';
    const title = h('h3', {}, bdi(engine.name));
    this.node = h('li', { class: 'card' },
      h('div', { class: 'card-head' }, title, this.status), this.address, this.error,
      h('div', { class: 'figures' },
        h('div', {}, h('span', { class: 'faint' }, 'Locks '), this.locks),
        h('div', {}, h('span', { class: 'faint' }, 'Waiting '), this.waiters, this.queue, this.most_queue),
        h('div', {}, h('span', { class: 'faint' }, 'Longest wait '), this.longest, this.wait, this.most_wait)),
      h('details', {}, h('summary', {}, 'Guarantees and doctor', h('span', { class: 'hidden' }, ` of ${engine.name}`)), this.list, this.doctor.node));
  }

  update(engine) {
    setText(this.address, engine.url ?? '');
    setText(this.status, engine.reachable ? 'reachable' : isDown(engine) ? 'unreachable' : 'asking…');
    setAttribute(this.status, 'data-ok', engine.reachable ? 'yes' : isDown(engine) ? 'no' : null);
    this.error.hidden = engine.reachable || !engine.error;
    setText(this.error, engine.error?.detail ?? engine.error?.title ?? '');
    this.reachable = engine.reachable;
    this.waiting = engine.reachable ? engine.waiters ?? 0 : 0;
    setText(this.locks, engine.reachable ? count(engine.locks ?? 0) : '–');
    setText(this.waiters, engine.reachable ? count(engine.waiters ?? 0) : '–');
    this.#showGuarantees(engine.guarantees ?? {});
    this.draw();
  }

  draw() {
    const points = this.store.contention.get(this.name) ?? [];
    const now_ms = now();
    const last = points.at(-1);
    setText(this.longest, this.reachable && last?.longest_wait_ms ? duration(last.longest_wait_ms) : '–');
    const recent = points.filter((point) => point.at_ms >= now_ms - SPAN_MS);
    const most = (field) => Math.max(0, ...recent.map((point) => point[field] ?? 0));
    const queue = count(Math.max(this.waiting, most('waiters')));
    const wait = duration(most('longest_wait_ms'));
    drawCurve(this.queue, points, 'waiters', now_ms, `Waiters in the last ten minutes: at most ${queue}`);
    drawCurve(this.wait, points, 'longest_wait_ms', now_ms, `Longest wait in the last ten minutes: ${wait}`);
    setText(this.most_queue, recent.length ? `at most ${queue}` : '');
    setText(this.most_wait, recent.length ? `at most ${wait}` : '');
  }

  #showGuarantees(guarantees) {
    const text = JSON.stringify(guarantees);
    if (text === this.guarantees) return;
    this.guarantees = text;
    this.list.replaceChildren(...GUARANTEES.flatMap(([key, title]) => {
      const value = guarantees[key];
      return value === undefined || value === '' ? [] : fact(title, said(value));
    }));
  }
}

class Doctor {
  constructor(engine) {
    this.engine = engine;
    this.button = h('button', { type: 'button', onclick: () => this.ask() }, 'Ask the doctor', h('span', { class: 'hidden' }, ` about ${engine}`));
    this.answer = h('div', { 'aria-live': 'polite' });
    this.node = h('div', { class: 'doctor' }, this.button, this.answer);
  }

  async ask() {
    this.button.disabled = true;
    this.answer.replaceChildren(h('p', { class: 'faint' }, 'Asking the server…'));
    try {
      this.answer.replaceChildren(...report(await get(address('v1/doctor', { engine: this.engine }))));
    } catch (error) {
      this.answer.replaceChildren(h('p', { class: 'error' }, bdi(error.message)));
    }
    this.button.disabled = false;
  }
}

function report(examination) {
  const product = [examination.product, examination.version].filter(Boolean).join(' ');
  const findings = examination.findings ?? [];
  return [
    h('p', {}, h('b', {}, `${examination.verdict ?? ''}`.replaceAll('_', ' ')), product ? ': ' : '', bdi(product)),
    h('ul', { class: 'findings plain' }, findings.map((finding) => h('li', {},
      h('span', { class: 'severity', 'data-severity': finding.severity }, finding.severity), ' ', bdi(finding.what ?? ''),
      finding.mend ? h('p', { class: 'mend faint' }, 'Mend: ', bdi(finding.mend)) : null))),
  ];
}

export class Engines {
  #cards = new Map();

  constructor(store) {
    this.store = store;
    this.list = byId('engines');
  }

  render() {
    this.#cards = reconcile(this.list, [...this.store.engines.values()], (engine) => engine.name,
      (engine) => new Card(engine, this.store), (card, engine) => card.update(engine));
    this.#offer();
  }

  draw() {
    for (const card of this.#cards.values()) card.draw();
  }

  // The filter offers the engines that there are.
  #offer() {
    const choice = byId('engine');
    const names = [...this.#cards.keys()];
    if ([...choice.options].slice(1).map((option) => option.value).join('\n') === names.join('\n')) return;
    const chosen = choice.value;
    choice.replaceChildren(choice.options[0], ...names.map((name) => h('option', { value: name }, name)));
    choice.value = names.includes(chosen) ? chosen : '';
    if (choice.value !== chosen) choice.dispatchEvent(new Event('change', { bubbles: true }));
  }
}
