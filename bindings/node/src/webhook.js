'use strict';

const abi = require('./abi.js');
const { Misconfigured, Refused } = require('./errors.js');
const { NOW, data, is, isPlain, options, text } = require('./options.js');

/** How far a timestamp may be from the current time: 5 minutes. */
const TOLERANCE_MS = 300_000;
/** Two signature schemes. One valid signature is enough. */
const STANDARD = {
  headers: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  number: 2,
  clause: 'Standard Webhooks, signature scheme',
};
const OWN = { headers: ['x-timestamp', 'x-signature'], number: 1, clause: 'idgate webhooks, X-Signature' };

/** Verifies or signs the notifications of one sender. */
class Webhook {
  #secret;
  #toleranceMs;

  constructor(secret, given) {
    const { toleranceMs = TOLERANCE_MS } = options('Webhook', { toleranceMs: is.number }, given);
    this.#secret = text(secret, 'Webhook: the secret');
    this.#toleranceMs = abi.count(toleranceMs, 'Webhook: toleranceMs', { least: 1 });
    // Lets the library read the secret, so that a short one is refused before the first notification.
    try {
      this.headers('', { id: '', number: 1 });
    } catch (problem) {
      throw new Misconfigured({ field: 'secret', why: problem.message });
    }
  }

  /**
   * Returns the notification in `body`, verified by `webhook-signature` (Standard Webhooks) if there is one, else by
   * `X-Signature`. Pass `body` exactly as it came. Throws `Refused` if the notification is not genuine.
   */
  verify(headers, body, given) {
    const { now } = options('verify', NOW, given);
    data(body, 'verify: the body');
    const received = lookup(headers);
    const isStandard = received('webhook-signature') !== undefined;
    const scheme = isStandard ? STANDARD : OWN;
    const values = scheme.headers.map((name) => only(scheme, name, received(name)));
    const [signature, timestamp, id] = values.reverse();
    const arrived = abi.sized('webhook', {
      scheme: scheme.number,
      id: abi.str(id),
      timestamp: abi.str(timestamp),
      signature: abi.str(signature),
      body: abi.str(body),
      tolerance_ms: this.#toleranceMs,
    });
    try {
      abi.run('webhook_verify', [abi.str(this.#secret), arrived, abi.millis(now)]);
    } catch (problem) {
      throw problem instanceof Refused ? invalid(scheme, problem.message) : problem;
    }
    return parsed(scheme, body);
  }

  /** The headers of one attempt to deliver `body`; `number` counts from 1. */
  headers(body, given) {
    const known = { id: is.text, number: is.number, previousSecret: is.text, ...NOW };
    const { id, number, previousSecret, now } = options('headers', known, given);
    const attempt = abi.sized('webhook_attempt', {
      id: abi.str(text(id, 'headers: id')),
      number: abi.count(number, 'headers: number', { least: 1, most: 0xffff_ffff }),
      body: abi.str(data(body, 'headers: the body')),
      previous_secret: abi.str(previousSecret),
    });
    return abi.run('webhook_headers', [abi.str(this.#secret), attempt, abi.millis(now)], abi.JSON_TEXT);
  }
}

/** Reads headers by lower-case name: fetch's `Headers`, those of Node, or a plain object in any case. */
function lookup(headers) {
  if (typeof headers?.get === 'function') return (name) => headers.get(name) ?? undefined;
  if (!isPlain(headers)) throw new TypeError('verify: the headers are not an object');
  const all = new Map();
  for (const [name, value] of Object.entries(headers)) {
    const known = all.get(name.toLowerCase());
    all.set(name.toLowerCase(), known === undefined ? value : [known, value]);
  }
  return (name) => all.get(name) ?? undefined;
}

/** The value of a header that must be there exactly once. */
function only(scheme, name, value) {
  if (typeof value === 'string') return value;
  throw invalid(scheme, `the header ${name} ${value === undefined ? 'is missing' : 'is repeated'}`);
}

function parsed(scheme, body) {
  try {
    return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
  } catch {
    throw invalid(scheme, 'the body is not JSON');
  }
}

function invalid({ clause }, message) {
  return new Refused({
    reason: 'invalid_webhook',
    check: 'the sender signed these bytes a short time ago',
    clause,
    message,
  });
}

module.exports = { Webhook };
