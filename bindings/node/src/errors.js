'use strict';
// Errors, grouped by the party that has to act. Messages never contain claim values, tokens, keys or nonces.

const { TRY_AGAIN, refusal } = require('./reply.js');

/** The base of all errors except wrong types. `code` is stable, and the gateway uses the same codes. */
class IdgateError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** The request breaks a rule. */
class RequestInvalid extends IdgateError {
  constructor({ code = 'invalid_request', path = '', rule, hint }) {
    super(code, `${path === '' ? 'the request' : `${path}:`} ${rule}`);
    this.path = path;
    this.rule = rule;
    if (hint) this.hint = hint;
  }
}

/** Trust, a key, a certificate or an option cannot be used. */
class Misconfigured extends IdgateError {
  constructor({ issuer = null, field = null, why, hint }) {
    super('config', [issuer, field, why].filter((part) => part !== null && part !== '').join(': '));
    this.issuer = issuer;
    this.field = field;
    this.why = why;
    if (hint) this.hint = hint;
  }
}

/** A presentation or a notification was evaluated and refused. */
class Refused extends IdgateError {
  constructor({ reason, check, clause, hint, message }) {
    super(reason, message);
    this.reason = reason;
    this.check = check;
    this.clause = clause;
    if (hint) this.hint = hint;
  }
}

/** The wallet's answer or fetch changes nothing. Store nothing. */
class NotAnAnswer extends IdgateError {
  constructor({ code, message, reply = refusal(400, code, message) }) {
    super(code, message);
    this.httpStatus = reply.status;
    hidden(this, 'http', reply);
  }

  /** Another answer was faster, or the session has ended. */
  static sessionClosed() {
    const [code, message] = ['session_not_pending', 'the session no longer accepts a response'];
    return new NotAnAnswer({ code, message, reply: refusal(409, code, message) });
  }
}

const WITHHELD = {
  not_verified: 'the session is not VERIFIED',
  response_code_missing: 'the browser has no response code',
  response_code_wrong: 'the response code is wrong',
  redacted: 'the result was readable for 30 seconds, and that time is over',
};

/** There is no result for this reader. */
class Withheld extends IdgateError {
  constructor({ reason }) {
    super(reason, WITHHELD[reason] ?? reason);
    this.reason = reason;
  }
}

/** The random source, the signer or a status source could not be used because of a fault of this machine. */
class NotAvailable extends IdgateError {
  constructor({ message, reply = TRY_AGAIN }) {
    super('temporarily_unavailable', message);
    /** In seconds. */
    this.retryAfter = Number(reply.headers['retry-after'] ?? 1);
    hidden(this, 'http', reply);
  }
}

/** A fault of idgate. */
class InternalError extends IdgateError {
  constructor({ message }) {
    super('internal_error', message);
  }
}

/** A member that is hidden in output, because it repeats others. */
function hidden(error, name, value) {
  Object.defineProperty(error, name, { value, enumerable: false });
}

const CLASSES = {
  IdgateError,
  InternalError,
  Misconfigured,
  NotAnAnswer,
  NotAvailable,
  Refused,
  RequestInvalid,
  Withheld,
};

for (const [name, { prototype }] of Object.entries(CLASSES)) {
  Object.defineProperty(prototype, 'name', { value: name, configurable: true, writable: true });
}

module.exports = CLASSES;
