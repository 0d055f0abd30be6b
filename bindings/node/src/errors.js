'use strict';

/** What JavaScript calls what the library names. */
const WORDS = [
  [/idgate_(\w)(\w*) \* is NULL/, (_, first, rest) => `this ${first.toUpperCase()}${rest} is closed`],
  [/idgate_trust_add_entry/, () => 'Trust.addIssuer()'],
  [/IDGATE_TEST_ONLY/, () => 'testOnly: true'],
  [/\bsigner_ca\b/, () => 'signerCa'],
];

/**
 * Something is refused or wrong. `code` is stable and the same that the gateway uses; the message
 * never carries claim values, tokens, keys or nonces.
 */
class IdgateError extends Error {
  constructor(kind, code, message, path = '', clause = null) {
    super(WORDS.reduce((text, [pattern, word]) => text.replace(pattern, word), message));
    this.name = 'IdgateError';
    this.kind = kind;
    this.code = code;
    this.path = path;
    this.clause = clause;
  }
}

module.exports = { IdgateError };
