'use strict';
// Errors of this package, made of failures of the library.

const { InternalError, Misconfigured, NotAnAnswer, NotAvailable, Refused, RequestInvalid } = require('./errors.js');

/** The numbers of `idgate_status`. */
const [REFUSED, BAD_REQUEST, BAD_RESPONSE, CONFIG, MISUSE, UNAVAILABLE, NOTHING] = [1, 2, 3, 4, 5, 6, 7];

const MADE = {
  [REFUSED]: refused,
  [BAD_REQUEST]: requestInvalid,
  [BAD_RESPONSE]: (told) => new NotAnAnswer(told),
  [CONFIG]: misconfigured,
  // Types are checked before a call. An object may be closed while a call uses it, and a value may not fit.
  [MISUSE]: ({ message }) => new TypeError(message),
  [UNAVAILABLE]: (told) => new NotAvailable(told),
  [NOTHING]: ({ code }) => new Nothing(code),
};

/** The library has no such thing, for the reason `code`. This error never leaves the package. */
class Nothing extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** The error of a call that came to `status`. */
function failure(status, told) {
  return (MADE[status] ?? ((other) => new InternalError(other)))(told);
}

/** What `work` gives; where there is nothing, what `otherwise` makes of the reason. */
function unlessNothing(work, otherwise = () => null) {
  try {
    return work();
  } catch (problem) {
    if (problem instanceof Nothing) return otherwise(problem.code);
    throw problem;
  }
}

/** What to do about a refusal, in the words of this package. */
const HINTS = {
  add_issuer: 'give the Trust an issuer with that id',
  supply_status: 'a status list or a CRL is needed: let it be fetched, by leaving `fetch` on or by a Fetcher',
  try_again: 'a status source could not be asked by a fault of this machine; try again',
};

function refused({ code, check, clause, remedy, hint, message }) {
  const own = HINTS[remedy] ?? hint;
  const told = hint !== '' && message.endsWith(hint) ? message.slice(0, -hint.length) + own : message;
  return new Refused({ reason: code, check, clause, hint: own, message: told });
}

function requestInvalid({ code, path, message, remedy }) {
  const subject = path === '' ? 'the request body ' : `${path}: `;
  const rule = message.startsWith(subject) ? message.slice(subject.length) : message;
  return new RequestInvalid({ code, path, rule, remedy });
}

/** The fields of an issuer are those of an object in JavaScript. */
function misconfigured({ message, issuer, path }) {
  if (issuer === '') return new Misconfigured({ why: message });
  const subject = `${issuer}: ${path}: `;
  const why = message.startsWith(subject) ? message.slice(subject.length) : message;
  return new Misconfigured({ issuer, field: path || null, why });
}

module.exports = { HINTS, failure, unlessNothing };
