// Elements without markup: every text becomes a text node, so that a stranger's name stays text whatever it says.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** h('p', {class: 'x', onclick: f}, 'text', child): an element. Strings become text nodes. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A stranger's text: its direction is kept from changing the order of what is around it. */
export function bdi(text, attributes) {
  return h('bdi', attributes, text);
}

export function byId(id) {
  return document.getElementById(id);
}

/** Writes only what changed: an untouched text node costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

const known = new WeakMap();

/**
 * Makes the children of `parent` one element per item, in this order. An element whose key stays is updated and
 * perhaps moved, never rebuilt; what has the focus keeps it, or passes it to the row that takes its place.
 */
export function reconcile(parent, items, keyOf, create, update) {
  const before = known.get(parent) ?? new Map();
  const after = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const row = before.get(key) ?? create(item);
    update?.(row, item);
    after.set(key, row);
  }
  const focus = focusIn(parent);
  for (const [key, row] of before) if (after.get(key) !== row) row.node.remove();
  let at = parent.firstElementChild;
  for (const { node } of after.values()) {
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
  known.set(parent, after);
  restore(parent, focus);
  return after;
}

function focusIn(parent) {
  const focused = document.activeElement;
  if (!focused || focused === parent || !parent.contains(focused)) return null;
  const index = [...parent.children].findIndex((child) => child.contains(focused));
  return { focused, index };
}

function restore(parent, focus) {
  if (!focus || document.activeElement === focus.focused) return;
  const gone = !focus.focused.isConnected;
  const next = gone ? parent.children[Math.min(focus.index, parent.children.length - 1)]?.querySelector('button') : focus.focused;
  next?.focus({ preventScroll: true });
}
