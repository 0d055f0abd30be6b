'use strict';
// Options objects of every call.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const NOW = new Date('2026-11-21T12:00:00Z');
const ISSUER = 'https://issuer.example';
const REQUEST = { credentials: [{ format: 'vc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] }] };
const LIVE = { mode: 'live', now: NOW };
const PROFILES = { profiles: ['1.0'] };

function calls() {
  const trust = new idgate.Trust([{ id: ISSUER }]);
  const signer = new idgate.Signer(cases.BASE_URL, Buffer.alloc(32, 7));
  const one = cases.load().find(({ expected, content_type: type }) => expected.status === 'VERIFIED' && type);
  const verifier = cases.verifierOf(one);
  const { session } = verifier.createSession(REQUEST, LIVE);
  const [restored, answer, store, options] = cases.given(one);
  const expected = { format: 'dc+sd-jwt', issuerId: ISSUER, clientId: 'c', nonce: 'n' };
  const webhook = new idgate.Webhook('secret-of-16-chars');
  const attempt = { id: 'whf_1', number: 1, now: NOW };
  return {
    'issuers[0]': (more) => new idgate.Trust([{ id: ISSUER, ...more }]),
    check: (more) => trust.check('x', expected, more),
    verify: (more) => trust.verify('x', { ...expected, ...more }),
    verifySync: (more) => trust.verifySync('x', { ...expected, ...more }),
    certified: (more) => signer.certified(Buffer.alloc(1), more),
    checkRegistration: (more) => signer.checkRegistration('a.b.c', more),
    compareRegistration: (more) => verifier.compareRegistration('a.b.c', REQUEST, { ...LIVE, ...more }),
    Verifier: (more) => new idgate.Verifier(cases.BASE_URL, trust, { ...PROFILES, ...more }),
    Fetcher: (more) => new idgate.Fetcher(more),
    createSession: (more) => verifier.createSession(REQUEST, { ...LIVE, ...more }),
    requestObject: (more) => verifier.requestObject(session, { to: session.id, now: NOW, ...more }),
    dcApiRequests: (more) => verifier.dcApiRequests(session, more),
    decide: (more) => verifier.decide(restored, answer, store, { ...options, ...more }),
    decideSync: (more) => verifier.decideSync(restored, answer, store, { ...options, ...more }),
    wallets: (more) => idgate.wallets(verifier, store, more),
    Webhook: (more) => new idgate.Webhook('secret-of-16-chars', more),
    headers: (more) => webhook.headers('x', { ...attempt, ...more }),
  };
}

test('an option with an unknown name is refused in every options object', async () => {
  for (const [what, call] of Object.entries(calls())) {
    for (const unknown of ['vct', 'doc_types', 'Now', '__proto_', 'signer_ca', 'toString', 'livemode', 'offer']) {
      const message = `${what}: there is no option "${unknown}"`;
      const refused = (error) => error instanceof TypeError && error.message.startsWith(message);
      await assert.rejects(async () => call({ [unknown]: undefined }), refused, `${what} ${unknown}`);
    }
  }
});

test('an option of a wrong type is named', async () => {
  const { 'issuers[0]': issuer, Verifier, createSession, decide, check, verify, Webhook, requestObject } = calls();
  for (const [call, wrong] of [
    [issuer, { docTypes: ['a', 1] }],
    [issuer, { docTypes: Array(1) }],
    [verify, { claims: Array(1) }],
    [Verifier, { profiles: '1.0' }],
    [Verifier, { signer: 'key' }],
    [Verifier, { signer: [Buffer.alloc(32)] }],
    [Verifier, { formerSigners: new idgate.Signer(cases.BASE_URL, Buffer.alloc(32, 7)) }],
    [Verifier, { fetch: 'yes' }],
    [createSession, { mode: 'Live' }],
    [createSession, { mode: true }],
    [createSession, { tenant: 7 }],
    [createSession, { strict: 'yes' }],
    [createSession, { now: Date.now() }],
    [requestObject, { to: 1 }],
    [requestObject, { walletNonce: 1 }],
    [decide, { fetch: 'yes' }],
    [decide, { now: '2026-11-21' }],
    [check, { checks: 1 }],
    [Webhook, { toleranceMs: '1' }],
  ]) {
    const [name] = Object.keys(wrong);
    await assert.rejects(async () => call(wrong), { name: 'TypeError', message: new RegExp(`\\b${name} is not`) });
  }
});

test('profiles, mode and the handle have no default', () => {
  const { createSession, requestObject, compareRegistration } = calls();
  const trust = new idgate.Trust([]);
  for (const none of [undefined, null, {}, { profiles: undefined }]) {
    const missing = { name: 'TypeError', message: /profiles is missing/ };
    assert.throws(() => new idgate.Verifier(cases.BASE_URL, trust, none), missing);
  }
  for (const call of [createSession, compareRegistration]) {
    assert.throws(() => call({ mode: undefined }), { name: 'TypeError', message: /mode is missing/ });
  }
  assert.throws(() => requestObject({ to: undefined }), { name: 'TypeError', message: /to is not text/ });
  const twice = { walletNonce: 'a', body: 'wallet_nonce=a' };
  assert.throws(() => requestObject(twice), { name: 'TypeError', message: /together with a form/ });
});

test('numbers that C cannot represent are refused, not truncated', () => {
  const { Verifier, createSession } = calls();
  for (const trustVersion of [-1, 1.5, 2 ** 64, NaN]) assert.throws(() => Verifier({ trustVersion }), RangeError);
  assert.throws(() => createSession({ now: new Date(NaN) }), RangeError);
});

test('a time that is not a Date is named', () => {
  const { session } = cases.verifierOf(cases.load()[0]).createSession(REQUEST, LIVE);
  const message = 'now is not a Date';
  for (const now of [Date.now(), '2026-11-21', {}]) {
    for (const call of ['info', 'due', 'followed', 'released', 'resultSnapshot']) {
      assert.throws(() => session[call](now), { name: 'TypeError', message });
    }
    assert.throws(() => session.result('backend', now), { name: 'TypeError', message });
  }
});

test('what is not an options object is refused', () => {
  const trust = new idgate.Trust([]);
  for (const wrong of ['1.0', 1, ['1.0'], true]) {
    assert.throws(() => new idgate.Verifier(cases.BASE_URL, trust, wrong), TypeError);
  }
  for (const wrong of [undefined, {}, 'trust']) {
    const message = 'the trust is not a Trust';
    assert.throws(() => new idgate.Verifier(cases.BASE_URL, wrong, PROFILES), { name: 'TypeError', message });
  }
  for (const wrong of [undefined, 1, new URL(cases.BASE_URL)]) {
    assert.throws(() => new idgate.Verifier(wrong, trust, PROFILES), TypeError);
  }
});
