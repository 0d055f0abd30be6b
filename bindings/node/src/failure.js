'use strict';
// Errors of this package, made from failures of the library.

const { InternalError, Misconfigured, NotAnAnswer, NotAvailable, Refused, RequestInvalid } = require('./errors.js');

/** The numbers of `idgate_status`. */
const [REFUSED, BAD_REQUEST, BAD_RESPONSE, CONFIG, MISUSE, UNAVAILABLE, NOTHING] = [1, 2, 3, 4, 5, 6, 7];

const MADE = {
  [REFUSED]: refused,
  [BAD_REQUEST]: requestInvalid,
  [BAD_RESPONSE]: (told) => new NotAnAnswer(told),
  [CONFIG]: misconfigured,
  // Types are checked before a call. Misuse remains if an object is closed during a call, or if a value does not fit.
  [MISUSE]: ({ message }) => new TypeError(message),
  [UNAVAILABLE]: (told) => new NotAvailable(told),
  [NOTHING]: ({ code }) => new Nothing(code),
};

/** The library has nothing to return, for the reason `code`. This error never leaves the package. */
class Nothing extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** The error of a call that returned `status`. */
function failure(status, told) {
  return (MADE[status] ?? ((other) => new InternalError(other)))(told);
}

/** The result of `work`; if there is none, the result of `otherwise` for the reason. */
function unlessNothing(work, otherwise = () => null) {
  try {
    return work();
  } catch (problem) {
    if (problem instanceof Nothing) return otherwise(problem.code);
    throw problem;
  }
}

/** Hints in the words of this package. Other errors keep the library's own hint. */
const HINTS = {
  add_issuer: 'add an issuer with that id to the Trust',
  supply_status: 'a status list or a CRL is needed; leave `fetch` on, or pass a Fetcher',
  try_again: 'a status source could not be fetched because of a fault of this machine; try again',
  add_vct: 'add `vcts` to the issuer',
  add_doc_type: 'add `docTypes` to the issuer',
};

/** The hint, and the message, which ends with it. */
function hinted({ remedy, hint, message }) {
  const own = HINTS[remedy] ?? hint;
  const isLast = hint !== '' && message.endsWith(hint);
  return { hint: own, message: isLast ? message.slice(0, -hint.length) + own : message };
}

function refused({ code, check, clause, ...told }) {
  return new Refused({ reason: code, check, clause, ...hinted(told) });
}

function requestInvalid({ code, path, ...told }) {
  const { hint, message } = hinted(told);
  const subject = path === '' ? 'the request body ' : `${path}: `;
  const rule = message.startsWith(subject) ? message.slice(subject.length) : message;
  return new RequestInvalid({ code, path, rule, hint });
}

/** The name of an issuer's field in JavaScript. */
function misconfigured({ message, issuer, path, hint }) {
  if (issuer === '') return new Misconfigured({ why: message, hint });
  const subject = `${issuer}: ${path}: `;
  const why = message.startsWith(subject) ? message.slice(subject.length) : message;
  return new Misconfigured({ issuer, field: path || null, why, hint });
}

module.exports = { HINTS, failure, unlessNothing };
