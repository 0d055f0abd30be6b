'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Webhook } = require('idgate');

const NOW = new Date('2026-11-21T12:00:00Z');
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const BODY = '{"sessionId":"ses_1"}';
const hook = new Webhook(SECRET);
const sent = hook.headers(BODY, { id: 'whf_1', number: 1, now: NOW });
const refused = { name: 'Refused', reason: 'invalid_webhook', code: 'invalid_webhook' };
const later = (ms) => new Date(NOW.getTime() + ms);

const lower = (headers) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
const only = (...names) => Object.fromEntries(Object.entries(sent).filter(([name]) => names.includes(name)));
const STANDARD = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
const OWN = ['X-Timestamp', 'X-Signature'];

test('a notification is accepted by either signature, with headers of any kind', () => {
  for (const headers of [sent, only(...STANDARD), only(...OWN)]) {
    for (const given of [headers, lower(headers), new Headers(headers)]) {
      for (const body of [BODY, Buffer.from(BODY)]) {
        assert.deepEqual(hook.verify(given, body, { now: NOW }), { sessionId: 'ses_1' });
      }
    }
  }
});

test('a former secret still signs', () => {
  const next = new Webhook('another-secret-of-20');
  const both = next.headers(BODY, { id: 'whf_1', number: 2, previousSecret: SECRET, now: NOW });
  assert.deepEqual(hook.verify(both, BODY, { now: NOW }), { sessionId: 'ses_1' });
  assert.deepEqual(next.verify(both, BODY, { now: NOW }), { sessionId: 'ses_1' });
});

test('a changed, late, incomplete or repeated notification is refused', () => {
  for (const [headers, body, now] of [
    [sent, `${BODY} `, NOW],
    [sent, BODY, later(301_000)],
    [sent, BODY, later(-301_000)],
    [{}, BODY, NOW],
    [new Headers(), BODY, NOW],
    [{ ...sent, 'webhook-signature': 'v1,' }, BODY, NOW],
    [{ ...sent, 'webhook-id': undefined }, BODY, NOW],
    [{ ...sent, 'webhook-id': ['whf_1', 'whf_1'] }, BODY, NOW],
    [{ ...sent, 'WEBHOOK-ID': 'whf_1' }, BODY, NOW],
    [{ ...only(...OWN), 'X-Timestamp': 'now' }, BODY, NOW],
    [only('X-Signature'), BODY, NOW],
  ]) {
    assert.throws(() => hook.verify(headers, body, { now }), refused);
  }
  const other = new Webhook('another-secret-of-20');
  assert.throws(() => other.verify(sent, BODY, { now: NOW }), { ...refused, clause: /^Standard Webhooks/ });
  assert.throws(() => other.verify(only(...OWN), BODY, { now: NOW }), { ...refused, clause: /X-Signature/ });
  const text = hook.headers('text', { id: 'whf_1', number: 1, now: NOW });
  assert.throws(() => hook.verify(text, 'text', { now: NOW }), { ...refused, message: 'the body is not JSON' });
});

test('a tolerance of the caller is used', () => {
  const patient = new Webhook(SECRET, { toleranceMs: 600_000 });
  patient.verify(sent, BODY, { now: later(301_000) });
  assert.throws(() => new Webhook(SECRET, { toleranceMs: 1 }).verify(sent, BODY, { now: later(2000) }), refused);
  assert.throws(() => patient.verify(sent, BODY, { now: later(601_000) }), refused);
});

test('unusable options are refused when the object is made', () => {
  assert.throws(() => new Webhook('short'), { name: 'Misconfigured', field: 'secret' });
  for (const wrong of [undefined, 1, Buffer.from(SECRET)]) assert.throws(() => new Webhook(wrong), TypeError);
  for (const toleranceMs of [-1, 0, NaN, Infinity, 1.5, 2 ** 64]) {
    assert.throws(() => new Webhook(SECRET, { toleranceMs }), RangeError, String(toleranceMs));
  }
  for (const number of [-1, 0, 2 ** 32 + 1]) {
    assert.throws(() => hook.headers(BODY, { id: 'whf_1', number }), RangeError);
  }
  for (const headers of [undefined, 'x-signature: 1', ['x']])
    assert.throws(() => hook.verify(headers, BODY), TypeError);
  assert.throws(() => hook.verify(sent, { sessionId: 'ses_1' }), TypeError);
});
