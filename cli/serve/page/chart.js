// Contention over the last minutes: one small curve of one figure.

import { s } from './dom.js';

const WIDTH = 240;
const HEIGHT = 36;
const SPAN_MS = 10 * 60 * 1000;

// Points come each 5 s, and seldom less often. After a longer silence nobody knows how it was.
const SILENCE_MS = 30 * 1000;

/** points: [{at_ms, [field]: number}], drawn as steps up to now; `text` says what a screen reader hears. */
export function drawCurve(svg, points, field, now_ms, text) {
  const from_ms = now_ms - SPAN_MS;
  const inside = points.filter((point) => point.at_ms >= from_ms);
  const most = Math.max(1, ...inside.map((point) => point[field] ?? 0));
  const x = (at_ms) => (((Math.min(at_ms, now_ms) - from_ms) / SPAN_MS) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - 1.5 - (value / most) * (HEIGHT - 5)).toFixed(1);
  let line = '';
  let area = '';
  for (const run of runsOf(inside)) {
    const value = (point) => y(point[field] ?? 0);
    const steps = run.slice(1).map((point) => `H${x(point.at_ms)}V${value(point)}`).join('');
    const end = now_ms - run.at(-1).at_ms < SILENCE_MS ? now_ms : run.at(-1).at_ms;
    const drawn = `M${x(run[0].at_ms)} ${value(run[0])}${steps}H${x(end)}`;
    line += drawn;
    area += `${drawn}V${HEIGHT}H${x(run[0].at_ms)}Z`;
  }
  svg.querySelector('title').textContent = text;
  svg.querySelector('.area').setAttribute('d', area);
  svg.querySelector('.line').setAttribute('d', line);
}

function runsOf(points) {
  const runs = [];
  for (const point of points) {
    if (runs.length && point.at_ms - runs.at(-1).at(-1).at_ms < SILENCE_MS) runs.at(-1).push(point);
    else runs.push([point]);
  }
  return runs;
}

export function newCurve() {
  return s('svg', { class: 'curve', role: 'img', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none' },
    s('title', {}), s('line', { class: 'base', x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1 }),
    s('path', { class: 'area', d: '' }), s('path', { class: 'line', d: '' }));
}

export { SPAN_MS };
