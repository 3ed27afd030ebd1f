// Requests to the daemon that serves this page, and to nobody else.

const KEY = 'holdfast-token';

export function signIn(token) {
  sessionStorage.setItem(KEY, token);
}

export function signOut() {
  sessionStorage.removeItem(KEY);
}

/** An answer that is no success, in the words of its problem+json where it has one. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `The daemon answered ${status}.`);
    this.status = status;
    this.code = body?.code ?? '';
    this.title = body?.title ?? '';
    this.retry_after_s = 0;
  }
}

/**
 * Tokens are 64-bit numbers; JavaScript's end at 53 bits, and a rounded token breaks nobody's lock, or the wrong one.
 * So a long one becomes a string of its digits. (Inside a JSON string every quote is escaped, so no stranger's text
 * matches.)
 */
export function parse(text) {
  const long = /"((?:last_|holder_)?token)":\s*(\d{16,})/g;
  return JSON.parse(long.test(text) ? text.replace(long, '"$1":"$2"') : text);
}

/** The address of an API path below this page; `lock_path` is a lock's path, which is percent-encoded already. */
export function address(path, query, lock_path) {
  const url = new URL(path, document.baseURI);
  const wanted = path.split('/').length;
  const got = url.pathname.slice(new URL('.', document.baseURI).pathname.length).split('/').length;
  // A browser folds "%2e%2e" away like "..": the request would ask for something else.
  if (wanted !== got) throw new Problem(0, { detail: 'A browser cannot ask for a lock with this name. Use the command.' });
  for (const [key, value] of Object.entries(query ?? {})) url.searchParams.set(key, value);
  if (lock_path !== undefined) url.search += `&path=${lock_path}`;
  return url;
}

export async function request(url, { method = 'GET', body, accept = 'application/json', signal } = {}) {
  const headers = { Accept: accept };
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const response = await fetch(url, { method, headers, body, signal, cache: 'no-store', credentials: 'same-origin' });
  if (response.ok) return response;
  const problem = new Problem(response.status, await problemOf(response));
  problem.retry_after_s = Number(response.headers.get('Retry-After')) || 0;
  throw problem;
}

async function problemOf(response) {
  try {
    return parse(await response.text());
  } catch {
    return null;
  }
}

/** GETs an address and answers its JSON. */
export async function get(url, signal) {
  const response = await request(url, { signal });
  return parse(await response.text());
}

/** Breaks the hold with this token. Rejects with a Problem, or a TypeError if no answer came. */
export async function breakLock(lock, token, reason) {
  if (!/^\d+$/.test(String(token))) throw new Problem(0, { detail: 'This holder has no token.' });
  const url = address(`v1/locks/${lock.path}/break`, { engine: lock.engine });
  const body = `{"token":${token},"reason":${JSON.stringify(reason)}}`;
  const response = await request(url, { method: 'POST', body });
  return parse(await response.text());
}
