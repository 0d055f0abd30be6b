'use strict';

const abi = require('./abi.js');
const { options } = require('./options.js');

/** Between two looks at a fetch: twice as long each time. No thread waits for sources. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

/** Fetches status lists and CRLs, and remembers them for as long as they say, a day at most. */
class Fetcher extends abi.Handle {
  constructor(given) {
    const { allow = [], roots } = options('Fetcher', ['allow', 'roots'], given);
    if (!Array.isArray(allow)) throw new TypeError('Fetcher: allow is an array of ranges');
    const text = typeof roots === 'string' || !roots ? roots : Buffer.from(roots).toString('latin1');
    super('fetcher_free', abi.make('fetcher_new', ...abi.data(abi.asJson({ allow, roots: text }))));
  }
}

/** The one of all verifiers that were given none, so that its bounds hold for all of them. */
let shared = null;

/** The fetcher of a verifier. The shared one is made on a worker thread when something has to be fetched: it reads the system's roots. */
class Lazy {
  #given;

  constructor(given = true) {
    if (typeof given !== 'boolean' && !(given instanceof Fetcher)) {
      throw new TypeError('Verifier: fetch is true, false or a Fetcher');
    }
    this.on = given !== false;
    this.#given = given instanceof Fetcher ? given : null;
  }

  async pointer() {
    if (this.#given) return abi.pointer(this.#given);
    shared ??= made();
    const making = shared;
    try {
      return abi.pointer(await making);
    } catch (problem) {
      // What could not be made is made anew by whoever comes next.
      if (shared === making) shared = null;
      throw problem;
    }
  }
}

async function made() {
  const out = [null];
  await abi.callAsync('fetcher_new', ...abi.data('{}'), out);
  return new abi.Handle('fetcher_free', out[0]);
}

/** Whether what `step` needs is known, and was supplied. */
async function recall(verification, lazy) {
  return lazy.on && recalled(verification, await lazy.pointer());
}

/** Fetches what `step` needs; without a fetcher none of it can be had. */
async function fetchAll(verification, lazy, step) {
  if (!lazy.on) {
    step.needs.forEach((need) => verification.supply(need, null));
    return;
  }
  abi.call('verification_fetch', abi.pointer(verification), await lazy.pointer());
  await over(verification);
  await abi.callAsync('verification_settle', abi.pointer(verification), abi.millis());
}

async function recalled(verification, fetcher) {
  const known = [false];
  await abi.callAsync('verification_recall', abi.pointer(verification), fetcher, abi.millis(), known);
  return known[0];
}

async function over(verification) {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const came = [false];
    abi.call('verification_wait', abi.pointer(verification), 0, came);
    if (came[0]) return;
    await new Promise((again) => setTimeout(again, pause));
  }
}

module.exports = { Fetcher, Lazy, fetchAll, recall };
