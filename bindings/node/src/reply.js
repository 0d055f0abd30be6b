'use strict';
// Answers to wallets over HTTP that the library has no part in. All others come from it.

/** A refusal as the gateway has it. */
function refusal(status, error, message, headers) {
  const always = { 'cache-control': 'no-store', 'content-type': 'application/json' };
  return { status, headers: { ...always, ...headers }, body: JSON.stringify({ error, message }) };
}

const TRY_AGAIN = refusal(503, 'temporarily_unavailable', 'try again later', { 'retry-after': '1' });

module.exports = { TRY_AGAIN, refusal };
