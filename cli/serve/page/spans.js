// From the events of one name to what a timeline draws: holds and waits, each with a beginning and an end. Pure.
//
// A span: {from_ms, to_ms (null: still going on), open (began before the first event), label, token, ending}
// ending: released, handed_over, lost, expired, broken, granted, gave_up, refused; '' while it lasts, or if nobody saw
// it end.

const BEGINS = new Set(['granted', 'handed_over']);
const ENDS = new Set(['released', 'lost', 'expired', 'broken']);

function same(a, b) {
  return a.owner && b.owner ? a.owner === b.owner : a.label === b.label;
}

/** Holds and waits of `events` (oldest first) and of the lock as it is now (null if nobody holds it). */
export function spansOf(events, lock) {
  const holds = [];
  const waits = [];
  for (const event of events) {
    if (BEGINS.has(event.kind)) begin(holds, waits, event);
    else if (ENDS.has(event.kind)) end(holds, event);
    else if (event.kind === 'waiting') waits.push({ ...event, from_ms: event.at_ms - (event.waited_for_ms ?? 0), to_ms: null, ending: '' });
    else if (event.kind === 'gave_up') endWait(waits, event);
  }
  addPresent(holds, waits, lock, events);
  return { holds: holds.filter((hold) => !hold.hidden), waits };
}

function begin(holds, waits, event) {
  endWait(waits, event);
  const token = String(event.token ?? '');
  if (holds.some((hold) => hold.token === token && hold.to_ms === null)) return;
  if (event.mode !== 'shared' && event.mode !== 'permit') {
    // An exclusive grant ends every hold before it, whether or not anybody saw that end.
    for (const hold of holds) if (hold.to_ms === null) Object.assign(hold, { to_ms: event.at_ms, ending: 'handed_over' });
  }
  holds.push({ from_ms: event.at_ms, to_ms: null, label: event.label ?? '', owner: event.owner, token, ending: '', handed: event.kind === 'handed_over' });
}

function end(holds, event) {
  const token = String(event.token ?? '');
  const hold = holds.findLast((each) => each.token === token);
  if (hold) {
    if (hold.to_ms === null || hold.ending === 'handed_over') Object.assign(hold, { to_ms: event.at_ms, ending: event.kind, reason: event.reason });
  } else if (event.held_for_ms !== undefined) {
    holds.push({ from_ms: event.at_ms - event.held_for_ms, to_ms: event.at_ms, label: event.label ?? '', token, ending: event.kind, reason: event.reason });
  }
}

function endWait(waits, event) {
  const wait = waits.find((each) => each.to_ms === null && same(each, event));
  const ending = event.kind === 'gave_up' ? 'gave_up' : 'granted';
  if (wait) Object.assign(wait, { to_ms: event.at_ms, ending });
  else if (event.waited_for_ms > 0) waits.push({ from_ms: event.at_ms - event.waited_for_ms, to_ms: event.at_ms, label: event.label ?? '', owner: event.owner, ending });
}

// The lock itself knows best who holds and waits now; an event may have been missed.
function addPresent(holds, waits, lock, events) {
  const last_ms = events.at(-1)?.at_ms ?? 0;
  const tokens = new Set((lock?.holders ?? []).map((holder) => String(holder.token)));
  for (const hold of holds) if (hold.to_ms === null && !tokens.has(hold.token)) hold.to_ms = Math.max(last_ms, hold.from_ms);
  for (const holder of lock?.holders ?? []) {
    const token = String(holder.token);
    if (holder.held_since_ms === undefined || holds.some((hold) => hold.token === token && hold.to_ms === null)) continue;
    holds.push({ from_ms: holder.held_since_ms, to_ms: null, label: holder.label ?? '', owner: holder.owner, token, ending: '' });
  }
  const present = [...(lock?.waiters ?? [])];
  for (const wait of waits) {
    if (wait.to_ms !== null) continue;
    const at = present.findIndex((waiter) => same(waiter, wait));
    if (at >= 0) present.splice(at, 1);
    else wait.to_ms = Math.max(last_ms, wait.from_ms);
  }
  for (const waiter of present) {
    if (waiter.waiting_since_ms === undefined) continue;
    waits.push({ from_ms: waiter.waiting_since_ms, to_ms: null, label: waiter.label ?? '', owner: waiter.owner, ending: '' });
  }
}

/** Puts spans into as few lanes as needed so that none overlap; at most `most` lanes, the rest is left out. */
export function lanesOf(spans, most, now_ms) {
  const lanes = [];
  let left_out = 0;
  for (const span of [...spans].sort((a, b) => a.from_ms - b.from_ms)) {
    const lane = lanes.find((each) => (each.at(-1).to_ms ?? now_ms) <= span.from_ms);
    if (lane) lane.push(span);
    else if (lanes.length < most) lanes.push([span]);
    else left_out += 1;
  }
  return { lanes, left_out };
}
