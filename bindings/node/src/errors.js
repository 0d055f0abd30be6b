'use strict';

/**
 * Something is refused or wrong. `code` is stable and the same that the gateway uses; the message
 * never carries claim values, tokens, keys or nonces.
 */
class IdgateError extends Error {
  constructor(kind, code, message, path = '') {
    super(message);
    this.name = 'IdgateError';
    this.kind = kind;
    this.code = code;
    this.path = path;
  }
}

module.exports = { IdgateError };
