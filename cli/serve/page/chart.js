// Contention over the last minutes: one small curve of one figure.

import { s } from './dom.js';

const WIDTH = 240;
const HEIGHT = 36;
const SPAN_MS = 10 * 60 * 1000;

/** points: [{at_ms, [field]: number}], drawn as steps up to now; `text` says what a screen reader hears. */
export function drawCurve(svg, points, field, now_ms, text) {
  const from_ms = now_ms - SPAN_MS;
  const inside = points.filter((point) => point.at_ms >= from_ms);
  const most = Math.max(1, ...inside.map((point) => point[field] ?? 0));
  const x = (at_ms) => (((Math.min(at_ms, now_ms) - from_ms) / SPAN_MS) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - 1.5 - (value / most) * (HEIGHT - 5)).toFixed(1);
  let line = '';
  inside.forEach((point, index) => {
    line += index === 0 ? `M${x(point.at_ms)} ${y(point[field] ?? 0)}` : `H${x(point.at_ms)}V${y(point[field] ?? 0)}`;
  });
  if (line) line += `H${WIDTH}`;
  const area = line ? `${line}V${HEIGHT}H${x(inside[0].at_ms)}Z` : '';
  svg.querySelector('title').textContent = text;
  svg.querySelector('.area').setAttribute('d', area);
  svg.querySelector('.line').setAttribute('d', line);
}

export function newCurve() {
  return s('svg', { class: 'curve', role: 'img', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none' },
    s('title', {}), s('line', { class: 'base', x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1 }),
    s('path', { class: 'area', d: '' }), s('path', { class: 'line', d: '' }));
}

export { SPAN_MS };
