'use strict';
// Fetches the status lists and CRLs that credentials name, with the library or with a function of the caller.

const abi = require('./abi.js');
const { is, options } = require('./options.js');
const { unawaited } = require('./promises.js');

/** The pause between two polls of a fetch; it doubles each time. No thread waits for sources. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;
/** The longest single wait on this thread. */
const PATIENCE_MS = 1000;

/** Fetches status lists and CRLs, and caches them for as long as they say, but for a day at most. */
class Fetcher extends abi.Handle {
  constructor(given) {
    const { allow = [], roots } = options('Fetcher', { allow: is.texts, roots: is.data }, given);
    const choices = {
      allow: allow.length > 0 ? allow.map(abi.str) : null,
      allow_len: allow.length,
      roots: abi.str(roots),
    };
    super('fetcher', abi.run('fetcher_new', [abi.sized('fetch_options', choices)], abi.HANDLE));
  }
}

/** The type of `fetch` in an options object. */
const FETCH = {
  name: 'true, false, a Fetcher or a function',
  fits: (value) => is.flag.fits(value) || is.function.fits(value) || value instanceof Fetcher,
};

/** The fetcher of all callers without their own, so that its limits apply to all of them together. */
let shared = null;
/** Set while a worker thread makes it. */
let making = null;

/** A way to fetch: a fetcher, a function, the shared fetcher, or none. */
class Source {
  #fetcher = null;
  #function = null;

  constructor(given = true) {
    this.isOn = given !== false;
    if (given instanceof Fetcher) this.#fetcher = given;
    else if (typeof given === 'function') this.#function = given;
  }

  /** The fetcher. The shared one is made for the first fetch, because it reads the system's roots. */
  async pointer() {
    if (this.#fetcher) return abi.pointer(this.#fetcher, Fetcher, 'fetch');
    if (shared === null) {
      // After a failure, the next caller tries again.
      making ??= made().finally(() => (making = null));
      await making;
    }
    return abi.pointer(shared, abi.Handle);
  }

  /** Makes it on this thread. */
  pointerSync() {
    if (this.#fetcher) return abi.pointer(this.#fetcher, Fetcher, 'fetch');
    shared ??= handle(abi.run('fetcher_new', [null], abi.HANDLE));
    return abi.pointer(shared, abi.Handle);
  }

  /** Answers needs of the last step from fresh copies. Returns whether it answered any. */
  async recall(verification, now) {
    if (!this.isOn || this.#function) return false;
    return abi.runAsync('verification_recall', [verification, await this.pointer(), abi.millis(now)], abi.FLAG);
  }

  recallSync(verification, now) {
    if (!this.isOn || this.#function) return false;
    return abi.run('verification_recall', [verification, this.pointerSync(), abi.millis(now)], abi.FLAG);
  }

  /** Answers all needs of the last step. Without a way to fetch, each gets no body. */
  async fetch(verification, needs, now) {
    if (!this.isOn) return Source.supplyNothing(verification, needs, now);
    if (this.#function) {
      // Async, so that an error of one function leaves no other promise unhandled.
      const bodies = await Promise.all(needs.map(async (need) => this.#function(told(need))));
      return Source.supply(verification, bodies, now);
    }
    abi.run('verification_fetch', [verification, await this.pointer()]);
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      if (abi.run('verification_wait', [verification, 0], abi.FLAG)) break;
      await new Promise((again) => setTimeout(again, pause));
    }
    return abi.runAsync('verification_settle', [verification, abi.millis(now)]);
  }

  fetchSync(verification, needs, now) {
    if (!this.isOn) return Source.supplyNothing(verification, needs, now);
    if (this.#function) {
      const bodies = [];
      try {
        for (const need of needs) bodies.push(this.#function(told(need)));
        return Source.supply(verification, bodies, now);
      } finally {
        bodies.forEach(unawaited);
      }
    }
    abi.run('verification_fetch', [verification, this.pointerSync()]);
    while (!abi.run('verification_wait', [verification, PATIENCE_MS], abi.FLAG));
    return abi.run('verification_settle', [verification, abi.millis(now)]);
  }

  /** Tells the library that there is no body for any need of the last step. */
  static supplyNothing(verification, needs, now) {
    Source.supply(verification, new Array(needs.length).fill(null), now);
  }

  /** Passes the library a body, or null, for each need of the last step. */
  static supply(verification, bodies, now) {
    bodies.forEach((body, index) => {
      if (body !== null && body !== undefined && !ArrayBuffer.isView(body)) {
        throw new TypeError('fetch: a body must be bytes or null');
      }
      abi.run('verification_supply', [verification, index, abi.str(body), abi.millis(now)]);
    });
  }
}

async function made() {
  const fresh = handle(await abi.runAsync('fetcher_new', [null], abi.HANDLE));
  // This thread may have made one in the meantime.
  if (shared === null) shared = fresh;
  else fresh.close();
}

const handle = (pointer) => new abi.Handle('fetcher', pointer);

const KINDS = { status_list: 'statusList', crl: 'crl', identifier_list: 'identifierList' };

/** A need in the form for the caller's function. */
function told({ kind, uri, accept, accept_otherwise: acceptOtherwise }) {
  return Object.freeze({ kind: KINDS[kind] ?? kind, uri, accept, acceptOtherwise });
}

module.exports = { FETCH, Fetcher, Source };
