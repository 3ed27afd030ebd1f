// Asks before a lock is broken, says what that means, and shows what came of it.

import { bdi, byId, h } from './dom.js';
import { breakLock } from './api.js';
import { duration } from './format.js';
import { now } from './clock.js';

export class BreakDialog {
  constructor() {
    this.dialog = byId('break');
  }

  ask(lock, holder) {
    this.opener = document.activeElement;
    // The daemon takes 500 bytes; a character has at most three here.
    const reason = h('input', {
      id: 'break-reason', type: 'text', required: true, maxlength: '160', autocomplete: 'off',
      pattern: '.*\\S.*', title: 'Say why',
    });
    const outcome = h('p', { class: 'outcome', role: 'alert' });
    const cancel = h('button', { type: 'button', onclick: () => this.close() }, 'Cancel');
    const submit = h('button', { type: 'submit', class: 'danger solid' }, 'Break the lock');
    const form = h('form', {}, ...question(lock, holder),
      h('label', { for: 'break-reason' }, 'Reason, for the history and the logs'), reason, outcome,
      h('p', { class: 'buttons' }, cancel, submit));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#break(lock, holder, reason, { outcome, cancel, submit });
    });
    this.dialog.replaceChildren(form);
    this.dialog.showModal();
    reason.focus();
  }

  close() {
    this.dialog.close();
    if (this.opener?.isConnected) this.opener.focus();
  }

  async #break(lock, holder, reason, { outcome, cancel, submit }) {
    submit.disabled = true;
    outcome.className = 'outcome';
    outcome.textContent = 'Asking the daemon…';
    try {
      await breakLock(lock, holder.token, reason.value.trim());
      outcome.textContent = `Broken. Token ${holder.token} no longer holds the lock; its holder learns of it at its next renewal.`;
      outcome.classList.add('good');
      reason.disabled = true;
      submit.hidden = true;
      cancel.textContent = 'Close';
      cancel.focus();
    } catch (error) {
      outcome.classList.add('error');
      outcome.replaceChildren(...refusal(error));
      submit.disabled = false;
    }
  }
}

function question(lock, holder) {
  const since = Number.isFinite(holder.held_since_ms) ? `, for ${duration(now() - holder.held_since_ms)}` : '';
  return [
    h('h2', { id: 'break-title' }, 'Break ', bdi(lock.name), '?'),
    h('p', {}, 'On ', h('b', {}, bdi(lock.engine)), ', held by ', h('b', {}, bdi(holder.label || 'a holder without a label')),
      ` with token ${holder.token}${since}.`),
    h('p', { class: 'warning' }, 'The holder is not stopped. It learns that the lock is gone at its next renewal; until then it works on, ' +
      'beside whoever is granted the lock next. Only a fence, which refuses its older token, protects the resource meanwhile.'),
  ];
}

function refusal(error) {
  if (!error.status) return [error instanceof TypeError ? 'No answer came: the lock may be broken or not. Look again before you repeat it.' : error.message];
  const parts = ['Not broken: ', bdi(error.message)];
  if (error.code) parts.push(' (', h('code', {}, error.code), ')');
  return parts;
}
