'use strict';
// Sessions: creating, storing, reading and ending them.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const NOW = new Date('2026-11-21T12:00:00Z');
const ISSUER = 'https://issuer.example';
const REQUEST = {
  credentials: [{ format: 'vc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] }],
};
const LIVE = { mode: 'live', now: NOW };
/** A posted answer, not one from a page. */
const good = () => cases.load().find((one) => one.expected.status === 'VERIFIED' && one.content_type);
const withheld = (reason) => ({ name: 'Withheld', reason, code: reason });

test('a session is made, stored and expires', () => {
  const made = cases.verifierOf(good()).createSession(REQUEST, { tenant: 'shop', ...LIVE });
  assert.equal(made.fromRevision, 0);
  const { at } = made.effects.find((effect) => effect.type === 'expireAt');
  const session = idgate.Session.restore(made.session.snapshot());
  const info = session.info(NOW);
  assert.deepEqual([info.status, info.tenant, info.mode], ['PENDING', 'shop', 'live']);
  assert.deepEqual([info.id, info.revision], [session.id, session.revision]);
  assert.deepEqual(session.handles, [session.id]);
  assert.deepEqual(info.expiresAt, at);
  assert.equal(info.expiresAt - info.createdAt, 300_000);
  assert.ok(info.qrCodeUrl.startsWith('openid4vp://?'));
  assert.deepEqual(Object.keys(info.deepLinks).sort(), ['eudi-wallet', 'haip', 'openid4vp']);
  assert.equal(session.due(NOW), null);
  // It has expired before it is stored as EXPIRED.
  const over = session.info(new Date(info.expiresAt.getTime() + 3_600_000));
  assert.deepEqual([over.status, over.settledAt], ['EXPIRED', info.expiresAt]);
  const expired = session.due(info.expiresAt);
  assert.equal(expired.fromRevision, 1);
  const ended = expired.session.info(info.expiresAt);
  assert.deepEqual([ended.status, ended.reason], ['EXPIRED', 'session_expired']);
  assert.deepEqual(ended.settledAt, info.expiresAt);
  assert.ok(!('qrCodeUrl' in ended) && !('walletError' in ended));
  const published = expired.effects.find((effect) => effect.type === 'publishStatus');
  assert.deepEqual([published.status, published.reason], ['EXPIRED', 'session_expired']);
  assert.deepEqual(published.occurredAt, info.expiresAt);
});

test('a result lives for 30 seconds and survives a restart', () => {
  const one = good();
  const now = new Date(one.now_ms);
  const decision = cases.decided(one);
  assert.deepEqual([decision.reply, decision.status], ['accepted', 'VERIFIED']);
  // The answer is for a draft.
  assert.deepEqual(decision.http.status, 200);
  assert.deepEqual(JSON.parse(decision.http.body), { status: 'ok' });
  assert.ok(!('reason' in decision));
  const settled = decision.transition.session;
  const { at } = decision.transition.effects.find((effect) => effect.type === 'redactClaimsAt');
  assert.equal(at - now, 30_000);
  const again = idgate.Session.restore(settled.snapshot(), settled.resultSnapshot(now));
  const result = again.result('backend', now);
  assert.deepEqual(result, settled.result('backend', now));
  assert.equal(result.credential('pid').given_name, 'Erika');
  assert.throws(() => result.credential('pass'), RangeError);
  assert.deepEqual(result.verificationDetails.verifiedAt, now);
  const [credential] = result.verificationDetails.credentials;
  assert.deepEqual([credential.issuerId, credential.holderBinding], [ISSUER, 'kb_jwt']);
  assert.ok(credential.validUntil > now);
  assert.throws(() => again.result('backend', at), withheld('redacted'));
  assert.equal(again.resultSnapshot(at), null);
  assert.throws(() => idgate.Session.restore(settled.snapshot()).result('backend', now), withheld('redacted'));
});

test('a result needs a reader', () => {
  const settled = cases.decided(good()).transition.session;
  for (const reader of [undefined, null, 'browser', {}, { response_code: 'x' }, new Date(), ['backend']]) {
    assert.throws(() => settled.result(reader), { name: 'TypeError', message: /name the reader/ });
  }
  for (const responseCode of [1, ['a'], {}]) assert.throws(() => settled.result({ responseCode }), TypeError);
  const { session } = cases.verifierOf(good()).createSession(REQUEST, LIVE);
  for (const reader of ['backend', { responseCode: 'x' }, { responseCode: null }]) {
    assert.throws(() => session.result(reader, NOW), withheld('not_verified'));
  }
});

test('the wallet’s own error is reported', () => {
  const verifier = cases.verifierOf(good());
  for (const [said, told] of [
    ['access_denied', 'access_denied'],
    ['its own words', 'other'],
  ]) {
    const { session } = verifier.createSession({ ...REQUEST, profile: 'draft' }, LIVE);
    const state = new URL(session.info(NOW).qrCodeUrl).searchParams.get('state');
    const body = new URLSearchParams({ state, error: said }).toString();
    const answer = { to: session.id, body, contentType: 'application/x-www-form-urlencoded' };
    const decision = verifier.decideSync(session, answer, cases.STORE, { now: NOW });
    assert.deepEqual([decision.reply, decision.reason, decision.walletError], ['errorNoted', 'wallet_error', told]);
    assert.equal(decision.transition.session.info(NOW).walletError, told);
  }
});

test('a decision counts only if the store says that it stored it', async () => {
  const one = good();
  const [session, answer, , options] = cases.given(one);
  const verifier = cases.verifierOf(one);
  const taken = [];
  const store = (committed) => ({ commit: (transition) => (taken.push(transition), committed) });
  const decision = await verifier.decide(session, answer, store(true), options);
  assert.deepEqual(taken, [decision.transition]);
  assert.equal(taken[0].fromRevision, session.revision);
  const closed = { name: 'NotAnAnswer', code: 'session_not_pending', httpStatus: 409 };
  await assert.rejects(verifier.decide(session, answer, store(false), options), closed);
  assert.throws(() => verifier.decideSync(session, answer, store(false), options), closed);
  for (const nothing of [undefined, null, 1, 'stored']) {
    await assert.rejects(verifier.decide(session, answer, store(nothing), options), TypeError);
    assert.throws(() => verifier.decideSync(session, answer, store(nothing), options), TypeError);
  }
  // decideSync cannot wait for a promise.
  assert.throws(() => verifier.decideSync(session, answer, store(Promise.resolve(true)), options), TypeError);
  for (const none of [undefined, null, {}, { commit: true }]) {
    await assert.rejects(verifier.decide(session, answer, none, options), TypeError);
    assert.throws(() => verifier.decideSync(session, answer, none, options), TypeError);
  }
});

test('an invalid answer object is a TypeError', async () => {
  const one = good();
  const [session, answer, store] = cases.given(one);
  const verifier = cases.verifierOf(one);
  for (const wrong of [
    undefined,
    'vp_token=x',
    {},
    { ...answer, to: 1 },
    { ...answer, to: undefined },
    { ...answer, body: { vp_token: 'x' } },
    { ...answer, body: undefined },
    { ...answer, contentType: ['x'] },
    { ...answer, content_type: 'x' },
    { dcApi: undefined },
    { dcApi: 1 },
    { dcApi: {}, to: session.id },
  ]) {
    await assert.rejects(verifier.decide(session, wrong, store), TypeError, JSON.stringify(wrong));
    assert.throws(() => verifier.decideSync(session, wrong, store), TypeError, JSON.stringify(wrong));
  }
});

test('closing releases, may be repeated, and a closed object is an error', async () => {
  const trust = new idgate.Trust([]);
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'] });
  const other = cases.verifierOf(good());
  const { session } = other.createSession(REQUEST, LIVE);
  trust[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
  trust.close();
  await verifier[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
  session.close();
  const closed = (kind) => ({ name: 'TypeError', message: `this ${kind} is closed` });
  assert.throws(() => new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'] }), closed('Trust'));
  assert.throws(() => verifier.createSession(REQUEST, LIVE), closed('Verifier'));
  assert.throws(() => session.snapshot(), closed('Session'));
  assert.throws(() => other.requestObject(trust, { to: 'x' }), { message: 'the session is not a Session' });
});

test('both module systems give the same classes', async () => {
  const modern = await import('idgate');
  assert.deepEqual(
    Object.keys(modern)
      .filter((name) => name !== 'default')
      .sort(),
    Object.keys(idgate).sort(),
  );
  assert.equal(modern.Trust, idgate.Trust);
});

test('a process that used worker threads ends cleanly', () => {
  const program = `
    const cases = require('./cases.js');
    const one = cases.load().find((one) => one.expected.status === 'VERIFIED' && one.content_type);
    Promise.all(Array.from({ length: 16 }, () => cases.outcomeAsync(one)));
  `;
  execFileSync(process.execPath, ['-e', program], { cwd: __dirname });
});
