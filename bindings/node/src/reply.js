'use strict';
// HTTP replies to wallets that do not come from the library.

/** A refusal in the gateway's form. */
function refusal(status, error, message, headers) {
  const always = { 'cache-control': 'no-store', 'content-type': 'application/json' };
  return { status, headers: { ...always, ...headers }, body: JSON.stringify({ error, message }) };
}

const TRY_AGAIN = refusal(503, 'temporarily_unavailable', 'try again later', { 'retry-after': '1' });

module.exports = { TRY_AGAIN, refusal };
