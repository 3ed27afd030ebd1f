// A name's history, drawn: holds above, waits below, time to the right up to now.

import { s } from './dom.js';
import { duration, plural, timeOfDay } from './format.js';
import { lanesOf, spansOf } from './spans.js';

const LOSSES = new Set(['lost', 'expired', 'broken']);
const LANE = 18;
const GAP = 4;
const AXIS = 20;
const HEADING = 16;
const LONGEST_MS = 30 * 60 * 1000;
const MOST_SPANS = 24;
const STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600].map((seconds) => seconds * 1000);

/** An SVG of `width` pixels; null if there is nothing to draw. */
export function drawTimeline(events, lock, now_ms, width) {
  const known = spansOf(events, lock);
  const all = [...known.holds, ...known.waits];
  if (all.length === 0) return null;
  const from_ms = beginning(all, now_ms);
  const seen = (spans) => spans.filter((span) => (span.to_ms ?? now_ms) >= from_ms);
  const holds = seen(known.holds);
  const waits = seen(known.waits);
  const scale = (at_ms) => ((Math.max(at_ms, from_ms) - from_ms) / (now_ms - from_ms)) * (width - 2);
  const parts = [];
  let y = section(parts, 'Held', holds, 'hold', 6, 0, { from_ms, now_ms, scale, width });
  y = section(parts, 'Waited', waits, 'wait', 8, y, { from_ms, now_ms, scale, width });
  const height = y + AXIS;
  const svg = s('svg', { class: 'timeline', role: 'img', width, height, viewBox: `0 0 ${width} ${height}` });
  svg.append(s('title', {}, describe(holds, waits, now_ms - from_ms)), axis(from_ms, now_ms, scale, y, width), ...parts);
  return svg;
}

function beginning(spans, now_ms) {
  let first = now_ms;
  for (const span of spans) if (span.from_ms < first) first = span.from_ms;
  // A busy lock would be drawn as hatching: then only its latest spans. The list has them all.
  const ends = spans.map((span) => span.to_ms ?? now_ms).sort((a, b) => b - a);
  if (ends.length > MOST_SPANS) first = Math.max(first, ends[MOST_SPANS]);
  // Never less than ten seconds: what has just begun would look like a rectangle.
  return Math.min(Math.max(first, now_ms - LONGEST_MS), now_ms - 10000);
}

function describe(holds, waits, length_ms) {
  const losses = holds.filter((hold) => LOSSES.has(hold.ending)).length;
  return `The last ${duration(length_ms)}: ${plural(holds.length, 'hold')}, ${plural(waits.length, 'wait')}, ` +
    `${losses === 1 ? '1 loss' : `${losses} losses`}. The list below tells the same.`;
}

function section(parts, heading, spans, kind, most, top, view) {
  if (spans.length === 0) return top;
  const { lanes, left_out } = lanesOf(spans, most, view.now_ms);
  const text = left_out ? `${heading} (${left_out} more not drawn)` : heading;
  parts.push(s('text', { class: 'lane-name', x: 0, y: top + 11 }, text));
  let y = top + HEADING;
  for (const lane of lanes) {
    for (const span of lane) parts.push(bar(span, kind, y, view));
    // Above the bars: the next one begins where a lost one ends.
    for (const span of lane) if (LOSSES.has(span.ending)) parts.push(cross(view.scale(span.to_ms), y));
    y += LANE + GAP;
  }
  return y + GAP;
}

function bar(span, kind, y, { now_ms, scale }) {
  const to_ms = span.to_ms ?? now_ms;
  const x = scale(span.from_ms);
  const width = Math.max(2, scale(to_ms) - x);
  const ending = span.to_ms === null ? 'now' : span.ending;
  const group = s('g', { class: `${kind} ${ending}` });
  group.append(s('title', {}, `${span.label || 'without a label'}${span.token ? `, token ${span.token}` : ''}, ` +
    `${timeOfDay(span.from_ms)}, ${duration(to_ms - span.from_ms)}${span.ending ? `, ${words(span.ending)}` : ''}`));
  group.append(s('rect', { x: x.toFixed(1), y, width: width.toFixed(1), height: LANE, rx: Math.min(4, width / 2).toFixed(1) }));
  const room = Math.floor((width - 12) / 7.5);
  if (room >= 3) {
    const label = span.label || span.token || '';
    const fits = label.length <= room ? label : `${label.slice(0, room - 1)}…`;
    group.append(s('text', { x: (x + 6).toFixed(1), y: y + 13 }, fits));
  }
  return group;
}

function cross(x, y) {
  const left = Math.max(1, x - 4);
  return s('path', { class: 'cross', d: `M${left} ${y + 3}l8 ${LANE - 6}m0 -${LANE - 6}l-8 ${LANE - 6}` });
}

function axis(from_ms, now_ms, scale, y, width) {
  const length_ms = now_ms - from_ms;
  const wanted = Math.max(2, Math.floor(width / 90));
  const step_ms = STEPS_MS.find((each) => length_ms / each <= wanted) ?? STEPS_MS.at(-1);
  const group = s('g', { class: 'axis' });
  for (let ago_ms = 0; ago_ms <= length_ms; ago_ms += step_ms) {
    const x = Math.max(0.5, scale(now_ms - ago_ms)).toFixed(1);
    if (ago_ms > 0 && x < 24) break;
    group.append(s('line', { x1: x, x2: x, y1: 0, y2: y + 2 }));
    group.append(s('text', { x, y: y + 15, 'text-anchor': ago_ms === 0 ? 'end' : 'middle' }, ago_ms === 0 ? 'now' : `−${duration(ago_ms)}`));
  }
  return group;
}

const WORDS = {
  granted: 'granted', handed_over: 'handed over', released: 'released', lost: 'lost', expired: 'ran out', waiting: 'began to wait',
  gave_up: 'gave up', broken: 'broken', refused: 'refused', renewed: 'renewed',
};

/** The kind of an event as people say it. */
export function words(kind) {
  return WORDS[kind] ?? kind.replaceAll('_', ' ');
}
