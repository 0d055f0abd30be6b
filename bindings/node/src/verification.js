'use strict';
// From a wallet's answer to the stored decision, with the fetches on the way.

const abi = require('./abi.js');
const { NotAnAnswer } = require('./errors.js');
const { unawaited } = require('./promises.js');
const { transition } = require('./session.js');

const NEED = 1;

/** Steps the verification `pointer` to its decision, on worker threads, and commits the decision. */
async function decide(pointer, given, source, now) {
  const store = checked(given);
  let held = null;
  try {
    for (;;) {
      const step = await abi.runAsync('verification_step', [pointer], abi.STEP);
      const next = transition(step.transition);
      if (step.kind !== NEED) {
        stored(await store.commit(next));
        return decided(step, next);
      }
      if (await source.recall(pointer, now)) {
        next.session.close();
        continue;
      }
      // The hold of a second round changes nothing.
      if (held === null) {
        const committed = await store.commit(next);
        // A store that returns neither true nor false may have stored the hold.
        if (committed !== false) held = next.session;
        stored(committed);
      }
      await source.fetch(pointer, step.told.needs, now);
    }
  } catch (problem) {
    const released = givenBack(problem, held, now);
    // The first error is the one to report. If the store fails again, the hold ends by itself.
    if (released)
      await Promise.resolve(released)
        .then((one) => store.commit(one))
        .catch(() => {});
    throw problem;
  }
}

/** The same on this thread. */
function decideSync(pointer, given, source, now) {
  const store = checked(given);
  let held = null;
  try {
    for (;;) {
      const step = abi.run('verification_step', [pointer], abi.STEP);
      const next = transition(step.transition);
      if (step.kind !== NEED) {
        stored(store.commit(next));
        return decided(step, next);
      }
      if (source.recallSync(pointer, now)) {
        next.session.close();
        continue;
      }
      if (held === null) {
        const committed = store.commit(next);
        if (committed !== false) held = next.session;
        stored(committed);
      }
      source.fetchSync(pointer, step.told.needs, now);
    }
  } catch (problem) {
    const released = givenBack(problem, held, now);
    try {
      if (released) unawaited(store.commit(released));
    } catch {
      // As above.
    }
    throw problem;
  }
}

function checked(store) {
  if (typeof store?.commit !== 'function') throw new TypeError('the store has no function commit');
  return store;
}

/** Continues only if the store says that it stored the session. */
function stored(committed) {
  if (committed === true) return;
  if (committed === false) throw NotAnAnswer.sessionClosed();
  unawaited(committed);
  throw new TypeError('commit of the store must return true, or false if another revision is stored');
}

/** The transition that ends the hold without a decision, unless the session continued without this answer. */
function givenBack(problem, held, now) {
  return problem instanceof NotAnAnswer ? null : (held?.released(now) ?? null);
}

function decided({ told, reply: http }, next) {
  const { status, reason, redirect_uri: redirectUri, wallet_error: walletError, report } = told;
  const common = { status, http, report, transition: next };
  switch (told.reply) {
    case 'accepted':
      return Object.freeze({ reply: 'accepted', ...common, redirectUri });
    case 'error_noted':
      return Object.freeze({ reply: 'errorNoted', ...common, reason, walletError, redirectUri });
    default:
      return Object.freeze({ reply: 'refused', ...common, reason });
  }
}

module.exports = { decide, decideSync };
