// The daemon's wall clock, as this page knows it: all times on the feed are its times, not the browser's.
// While the page is not live the clock stands still, so that no figure grows that nobody has seen.

let offset_ms = null;
let frozen_at_ms = null;

/** To be called with each `now_ms`. A late message makes the daemon look behind, so the largest offset is the best. */
export function synchronize(now_ms, afresh) {
  if (!Number.isFinite(now_ms)) return;
  const seen_ms = now_ms - performance.now();
  if (afresh || offset_ms === null || seen_ms > offset_ms || offset_ms - seen_ms > 2000) offset_ms = seen_ms;
}

export function now() {
  if (frozen_at_ms !== null) return frozen_at_ms;
  return offset_ms === null ? Date.now() : performance.now() + offset_ms;
}

export function freeze() {
  if (frozen_at_ms === null && offset_ms !== null) frozen_at_ms = now();
}

export function thaw() {
  frozen_at_ms = null;
}
