// Verifies the webhooks of idgate. Use either function; both need the unparsed body as a Buffer.
//
//   if (!verify(secret, body, req.headers['x-timestamp'], req.headers['x-signature'])) return 400

import { createHmac, timingSafeEqual } from 'node:crypto';

/** How far the clocks may differ, in either direction. */
export const TOLERANCE_MS = 300_000;

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DIGITS = /^[0-9]{1,16}$/;

/** X-Signature: hex of HMAC-SHA256 over `<X-Timestamp>.<body>`, keyed with the secret's text. */
export function verify(secret, body, timestamp, signature, nowMs = Date.now()) {
  if (!isRecent(timestamp, 1, nowMs)) return false;
  const mac = createHmac('sha256', secret).update(`${timestamp}.`).update(body);
  return equal(mac.digest('hex'), signature);
}

/** webhook-signature (Standard Webhooks): one valid `v1,…` entry is enough. */
export function verifyStandard(secret, body, id, timestamp, signatures, nowMs = Date.now()) {
  if (!isRecent(timestamp, 1000, nowMs)) return false;
  const mac = createHmac('sha256', standardKey(secret)).update(`${id}.${timestamp}.`).update(body);
  const expected = `v1,${mac.digest('base64')}`;
  return String(signatures).split(' ').map((entry) => equal(expected, entry)).includes(true);
}

function standardKey(secret) {
  const encoded = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : null;
  return encoded !== null && BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : secret;
}

function isRecent(timestamp, unitMs, nowMs) {
  return DIGITS.test(timestamp) && Math.abs(nowMs - Number(timestamp) * unitMs) <= TOLERANCE_MS;
}

/** Compares in constant time, and only values of the same length. */
function equal(expected, given) {
  const [a, b] = [Buffer.from(expected), Buffer.from(String(given))];
  return a.length === b.length && timingSafeEqual(a, b);
}
