'use strict';

const abi = require('./abi.js');
const { IdgateError } = require('./errors.js');
const { options } = require('./options.js');

const TOLERANCE_MS = 300_000;

/** The headers of one attempt to deliver `body`; `number` counts from 1. */
function headers(secret, attempt) {
  const known = ['id', 'number', 'body', 'previousSecret', 'now'];
  const { id, number, body, previousSecret, now } = options('webhook.headers', known, attempt);
  return abi.makeJson(
    'webhook_headers',
    ...abi.data(secret),
    ...abi.data(previousSecret),
    ...abi.data(id),
    abi.count(number, 'number', 0xffff_ffff),
    ...abi.data(body),
    abi.millis(now),
  );
}

/**
 * Believes a notification: by `webhook-signature` when it is there, else by `X-Signature`. Throws
 * an IdgateError when it is not to be believed.
 */
function verify(secret, headers, body, given) {
  const { now, toleranceMs = TOLERANCE_MS } = options('webhook.verify', ['now', 'toleranceMs'], given);
  const received = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const standard = received['webhook-signature'] !== undefined;
  const names = standard
    ? ['webhook-id', 'webhook-timestamp', 'webhook-signature']
    : ['x-timestamp', 'x-signature'];
  const missing = names.find((name) => typeof received[name] !== 'string');
  if (missing) {
    throw new IdgateError('refused', 'invalid_webhook', `the header ${missing} is missing`);
  }
  abi.call(
    standard ? 'webhook_verify_standard' : 'webhook_verify',
    ...abi.data(secret),
    ...names.flatMap((name) => abi.data(received[name])),
    ...abi.data(body),
    abi.millis(now),
    abi.count(toleranceMs, 'toleranceMs'),
  );
}

module.exports = { TOLERANCE_MS, headers, verify };
