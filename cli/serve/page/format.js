// Numbers as people read them.

const UNITS = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

/** 830 -> "0.8 s", 12000 -> "12 s", 200000 -> "3 min 20 s": at most two units. */
export function duration(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 0) ms = 0;
  if (ms < 1000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1000);
  const first = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[first];
  const rest = UNITS[first + 1];
  const remainder = rest ? Math.floor((seconds % size) / rest[1]) : 0;
  return `${Math.floor(seconds / size)} ${unit}${remainder ? ` ${remainder} ${rest[0]}` : ''}`;
}

/** Whole seconds, for what a clock ticks down: "12 s". */
export function countdown(ms) {
  return ms < 1000 ? `${Math.max(0, Math.ceil(ms / 1000))} s` : duration(ms);
}

/**
 * A stranger's name with all that is invisible, or moves what is around it, spelled out: "\u{202E}". An unpaired half
 * of a character is replaced by the daemon already.
 */
export function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/gu, (each) => `\\u{${each.codePointAt(0).toString(16).toUpperCase()}}`);
}

const grouped = new Intl.NumberFormat('en');
export function count(number) {
  return grouped.format(number);
}

/** plural(1, 'lock') -> "1 lock", plural(2, 'lock') -> "2 locks". */
export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
export function timeOfDay(ms) {
  return clock.format(new Date(ms));
}
