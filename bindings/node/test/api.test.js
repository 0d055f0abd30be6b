'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const idgate = require('idgate');
const cases = require('./cases.js');

const NOW = new Date('2026-11-21T12:00:00Z');
const ISSUER = 'https://issuer.example';
const REQUEST = {
  credentials: [{ format: 'vc+sd-jwt', issuer_id: ISSUER, claims: ['given_name'] }],
};
const VECTORS = process.env.IDGATE_VECTORS ?? path.join(__dirname, '../../../../shared/vectors');
const VICAL = path.join(VECTORS, 'vical', 'aamva-vical-2025-11-18.cbor');
/** Posted, not brought back by a page. */
const good = () =>
  cases.load().find((one) => one.expected.status === 'VERIFIED' && one.content_type);
const later = (ms) => new Date(NOW.getTime() + ms);

test('a session is made, stored and expires', () => {
  const made = cases.verifierOf(good()).createSession(REQUEST, { tenant: 'shop', now: NOW });
  assert.equal(made.fromRevision, 0);
  assert.ok(made.effects.some((effect) => effect.type === 'expire_at'));
  const session = idgate.Session.restore(made.session.snapshot());
  const info = session.info(NOW);
  assert.deepEqual([info.status, info.tenant, info.livemode], ['PENDING', 'shop', true]);
  assert.equal(info.expiresAt - info.createdAt, 300_000);
  assert.ok(info.qrCodeUrl.startsWith('openid4vp://?'));
  assert.deepEqual(Object.keys(info.deepLinks).sort(), ['eudi-wallet', 'haip', 'openid4vp']);
  assert.equal(session.due(NOW), null);
  const expired = session.due(info.expiresAt);
  assert.equal(expired.fromRevision, 1);
  const ended = expired.session.info(info.expiresAt);
  assert.deepEqual([ended.status, ended.reason, ended.qrCodeUrl], ['EXPIRED', 'session_expired', null]);
});

test('a result lives for 30 seconds and survives a restart', () => {
  const one = good();
  const now = new Date(one.now_ms);
  const session = idgate.Session.restore(cases.decode(one.session));
  const body = cases.decode(one.body);
  const verification = cases.verifierOf(one).begin(session, body, one.content_type, { now });
  const decision = verification.step();
  assert.deepEqual([decision.kind, decision.reply, decision.status], ['done', 'accepted', 'VERIFIED']);
  // It is a draft's.
  assert.deepEqual(decision.body, { status: 'ok' });
  const settled = decision.transition.session;
  const again = idgate.Session.restore(settled.snapshot(), settled.resultSnapshot(now));
  assert.deepEqual(again.result(now), settled.result(now));
  assert.equal(again.result(new Date(one.now_ms + 30_000)), null);
  assert.equal(idgate.Session.restore(settled.snapshot()).result(now), null);
});

test('a bad request names its field', () => {
  const verifier = cases.verifierOf(good());
  assert.throws(
    () => verifier.createSession({ credentials: [{ format: 'x' }] }),
    (error) =>
      error instanceof idgate.IdgateError &&
      error.kind === 'bad_request' &&
      error.path.startsWith('credentials[0]'),
  );
  assert.throws(() => verifier.createSession(REQUEST, { now: new Date(NaN) }), RangeError);
});

test('a closed handle is misuse, and closing twice is fine', () => {
  const trust = new idgate.Trust();
  trust[Symbol.dispose]();
  trust.close();
  assert.throws(() => trust.addIssuer(ISSUER), { kind: 'misuse' });
});

test('an empty trust refuses everything, on this thread and on another', async () => {
  const trust = new idgate.Trust();
  const expected = { format: 'vc+sd-jwt', issuerId: ISSUER, clientId: 'c', nonce: 'n' };
  assert.throws(() => trust.verify('x', expected), { kind: 'config' });
  trust.addIssuer(ISSUER);
  const refused = { kind: 'refused', code: 'malformed_presentation' };
  assert.throws(() => trust.verify('x', expected), refused);
  await assert.rejects(trust.verifyAsync('x', expected), refused);
});

function fetched(signer) {
  const trust = new idgate.Trust();
  trust.addIssuer(ISSUER);
  trust.addJwk(ISSUER, new idgate.Signer(cases.BASE_URL, Buffer.alloc(32, 7)).publicKey());
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, { signer });
  signer.close();
  const made = verifier.createSession(REQUEST, { now: NOW });
  const query = new URL(made.session.info(NOW).qrCodeUrl).searchParams;
  assert.deepEqual([...query.keys()].sort(), ['client_id', 'request_uri']);
  const options = { walletNonce: 'w', now: NOW };
  const { jwt, transition } = verifier.requestObject(made.session, options);
  assert.equal(transition.session.info(NOW).status, 'PENDING');
  assert.equal(verifier.requestObject(transition.session, { now: NOW }).transition, null);
  return jwt.split('.');
}

test('a key in memory signs and is published', () => {
  const signer = new idgate.Signer(cases.BASE_URL, idgate.generateSigningKey());
  const key = signer.publicKey();
  const [header, claims] = fetched(signer).map((part) => cases.decode(part));
  const document = idgate.didDocument(cases.BASE_URL, [key]);
  assert.equal(document.id, 'did:web:gateway.example');
  assert.equal(JSON.parse(header).kid, document.verificationMethod[0].id);
  assert.equal(JSON.parse(claims).wallet_nonce, 'w');
  const { keys } = idgate.jwks(cases.BASE_URL, [key]);
  assert.deepEqual(keys.map((one) => one.kid), document.authentication);
  assert.equal(keys[0].d, undefined);
});

test('a function signs and may fail', () => {
  const key = new idgate.Signer(cases.BASE_URL, Buffer.alloc(32, 7)).publicKey();
  const seen = [];
  const sign = (input) => {
    seen.push(input.toString());
    return Buffer.alloc(64, 1);
  };
  const parts = fetched(idgate.Signer.external(cases.BASE_URL, key, sign));
  assert.equal(seen[0], `${parts[0]}.${parts[1]}`);
  assert.deepEqual(cases.decode(parts[2]), Buffer.alloc(64, 1));
  const broken = [
    () => Buffer.alloc(63),
    () => {
      throw new Error('the HSM does not answer');
    },
  ];
  for (const fail of broken) {
    const signer = idgate.Signer.external(cases.BASE_URL, key, fail);
    assert.throws(() => fetched(signer), { kind: 'unavailable' });
  }
});

test('functions of signers that are gone make room for others', async () => {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc');
  const key = new idgate.Signer(cases.BASE_URL, Buffer.alloc(32, 7)).publicKey();
  const sign = () => Buffer.alloc(64, 1);
  const kept = idgate.Signer.external(cases.BASE_URL, key, sign);
  // koffi has room for 8192 functions.
  for (let round = 0; round < 10; round += 1) {
    for (let n = 0; n < 1000; n += 1) idgate.Signer.external(cases.BASE_URL, key, sign).close();
    assert.throws(() => idgate.Signer.external(cases.BASE_URL, '{}', sign), { kind: 'config' });
    collect();
    await new Promise(setImmediate);
  }
  assert.equal(fetched(kept).length, 3);
});

test('notifications are believed by either signature, and not when changed or late', () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  const body = '{"sessionId":"ses_1"}';
  const headers = idgate.webhook.headers(secret, { id: 'whf_1', number: 1, body, now: NOW });
  const own = { 'x-timestamp': headers['X-Timestamp'], 'x-signature': headers['X-Signature'] };
  for (const given of [headers, own]) idgate.webhook.verify(secret, given, body, { now: NOW });
  for (const [given, text, now] of [
    [headers, `${body} `, NOW],
    [headers, body, later(301_000)],
    [{}, body, NOW],
    [{ ...headers, 'webhook-signature': 'v1,' }, body, NOW],
  ]) {
    const refused = { kind: 'refused', code: 'invalid_webhook' };
    assert.throws(() => idgate.webhook.verify(secret, given, text, { now }), refused);
  }
});

test('numbers that C cannot take are refused, not cut to size', () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  const attempt = { id: 'whf_1', number: 1, body: 'x', now: NOW };
  const headers = idgate.webhook.headers(secret, attempt);
  for (const toleranceMs of [-1, NaN, Infinity, 1.5, 2 ** 64]) {
    const verify = () => idgate.webhook.verify(secret, headers, 'x', { now: later(1e9), toleranceMs });
    assert.throws(verify, RangeError, String(toleranceMs));
  }
  for (const number of [-1, 2 ** 32 + 1]) {
    assert.throws(() => idgate.webhook.headers(secret, { ...attempt, number }), RangeError);
  }
  const trust = new idgate.Trust();
  const options = { trustVersion: -1 };
  assert.throws(() => new idgate.Verifier(cases.BASE_URL, trust, options), RangeError);
});

test('an option that nobody knows is refused in every options object', async () => {
  const one = good();
  const now = new Date(one.now_ms);
  const trust = new idgate.Trust();
  trust.addIssuer(ISSUER);
  const signer = new idgate.Signer(cases.BASE_URL, Buffer.alloc(32, 7));
  const jwk = signer.publicKey();
  const verifier = cases.verifierOf(one);
  const made = verifier.createSession(REQUEST, { now: NOW });
  const body = cases.decode(one.body);
  const session = idgate.Session.restore(cases.decode(one.session));
  const expected = { format: 'vc+sd-jwt', issuerId: ISSUER, clientId: 'c', nonce: 'n' };
  const attempt = { id: 'whf_1', number: 1, body: 'x', now: NOW };
  const headers = idgate.webhook.headers('secret-of-16-chars', attempt);
  const calls = {
    addIssuer: (more) => trust.addIssuer(ISSUER, more),
    addJwk: (more) => trust.addJwk(ISSUER, jwk, more),
    addPublicKey: (more) => trust.addPublicKey(ISSUER, 'pem', more),
    addRoots: (more) => trust.addRoots(ISSUER, 'pem', more),
    addStatusRoots: (more) => trust.addStatusRoots(ISSUER, 'pem', more),
    addPinnedSigners: (more) => trust.addPinnedSigners(ISSUER, 'pem', more),
    addCrls: (more) => trust.addCrls(ISSUER, 'pem', more),
    addMasterList: (more) => trust.addMasterList(ISSUER, Buffer.alloc(1), more),
    addVical: (more) => trust.addVical(ISSUER, Buffer.alloc(1), more),
    addTrustedList: (more) => trust.addTrustedList(ISSUER, Buffer.alloc(1), more),
    verify: (more) => trust.verify('x', { ...expected, ...more }),
    certified: (more) => signer.certified(Buffer.alloc(1), more),
    checkRegistration: (more) => signer.checkRegistration('a.b.c', more),
    compareRegistration: (more) => verifier.compareRegistration('a.b.c', REQUEST, more),
    Verifier: (more) => new idgate.Verifier(cases.BASE_URL, trust, more),
    Fetcher: (more) => new idgate.Fetcher(more),
    createSession: (more) => verifier.createSession(REQUEST, { now: NOW, ...more }),
    requestObject: (more) => verifier.requestObject(made.session, { now: NOW, ...more }),
    begin: (more) => verifier.begin(session, body, one.content_type, { now, ...more }),
    'webhook.headers': (more) => idgate.webhook.headers('secret-of-16-chars', { ...attempt, ...more }),
    'webhook.verify': (more) => idgate.webhook.verify('secret-of-16-chars', headers, 'x', { now: NOW, ...more }),
  };
  for (const [what, call] of Object.entries(calls)) {
    for (const unknown of ['vcts', 'doc_types', 'Now', '__proto_', 'signer_ca']) {
      const refused = { name: 'TypeError', message: new RegExp(`^${what.replace('.', '\\.')}: .*"${unknown}"`) };
      assert.throws(() => call({ [unknown]: undefined }), refused, `${what} ${unknown}`);
    }
  }
  for (const call of [calls.addIssuer, calls.Verifier]) {
    for (const wrong of ['vct', 1, ['vct']]) assert.throws(() => call(wrong), TypeError);
    for (const none of [undefined, null, {}]) call(none);
  }
  const asynchronous = { name: 'TypeError' };
  await assert.rejects(trust.verifyAsync('x', { ...expected, vcts: [] }), asynchronous);
  const verification = calls.begin({});
  await assert.rejects(verification.decide({ commit() {}, fetch: () => null, fetcher() {} }), asynchronous);
  const decision = await verification.decide({ commit() {}, fetch: () => null });
  assert.deepEqual([decision.status, decision.walletError], ['VERIFIED', null]);
});

test('what the wallet said is told', () => {
  const verifier = cases.verifierOf(good());
  for (const [said, told] of [['access_denied', 'access_denied'], ['its own words', 'other']]) {
    const { session } = verifier.createSession(REQUEST, { now: NOW });
    const state = new URL(session.info(NOW).qrCodeUrl).searchParams.get('state');
    const body = Buffer.from(new URLSearchParams({ state, error: said }).toString());
    const type = 'application/x-www-form-urlencoded';
    const decision = verifier.begin(session, body, type, { now: NOW }).step();
    assert.deepEqual([decision.reply, decision.reason, decision.walletError], ['error_noted', 'wallet_error', told]);
    assert.equal(decision.transition.session.info(NOW).walletError, told);
    assert.equal(session.info(NOW).walletError, null);
  }
});

test('certificates of a list are told in the names of this package', { skip: fs.existsSync(VICAL) ? false : 'there is no third-party data' }, () => {
  const trust = new idgate.Trust();
  trust.addIssuer(ISSUER);
  const file = fs.readFileSync(VICAL);
  const listed = trust.addVical(ISSUER, file, { testOnly: true, allowStale: true });
  assert.ok(listed.length > 0);
  for (const one of listed) {
    const names = ['country', 'expired', 'key', 'sha256', 'skippedBecause', 'subject'];
    assert.deepEqual(Object.keys(one).sort(), names);
  }
});

/** What a wallet put into vp_token, and what its request said. */
function captured(kind) {
  const fits = (one) => one.expected.status === 'VERIFIED' && kind in one.trust[0];
  // A map is OpenID4VP 1.0: here a presentation stands alone.
  const alone = (body) => body.includes('vp_token=') && !body.includes('vp_token=%7B');
  const one = cases.load().find((each) => fits(each) && alone(cases.decode(each.body)));
  const token = new URLSearchParams(cases.decode(one.body).toString()).get('vp_token');
  const session = idgate.Session.restore(cases.decode(one.session));
  const request = new URL(session.info(new Date(one.now_ms)).qrCodeUrl).searchParams;
  const trust = new idgate.Trust();
  const [{ issuer_id: issuerId, jwks, roots }] = one.trust;
  trust.addIssuer(issuerId, { revocation: 'off' });
  if (jwks) trust.addJwk(issuerId, { keys: jwks });
  for (const root of roots ?? []) trust.addRoots(issuerId, cases.decode(root));
  const expected = {
    issuerId,
    clientId: request.get('client_id'),
    nonce: request.get('nonce'),
    responseUri: request.get('response_uri'),
    now: new Date(one.now_ms),
    livemode: false,
  };
  return { trust, token, expected };
}

test('one presentation is verified on this thread and on another', async () => {
  const mdoc = {
    format: 'mso_mdoc',
    docType: 'org.iso.18013.5.1.mDL',
    namespace: 'org.iso.18013.5.1',
    claims: ['family_name'],
  };
  for (const [kind, more] of [
    ['jwks', { format: 'vc+sd-jwt', claims: ['given_name'] }],
    ['roots', mdoc],
  ]) {
    const { trust, token, expected } = captured(kind);
    const all = { ...expected, ...more };
    const verified = trust.verify(token, all);
    assert.deepEqual(Object.keys(verified.claims), more.claims);
    assert.ok(verified.validUntil > all.now);
    assert.equal(verified.checks, undefined);
    const signer = kind === 'jwks' ? 'not_published' : 'off';
    assert.equal(verified.revocation, 'off');
    assert.deepEqual(verified.revocationDetails, { credential: 'off', signer });
    assert.equal(verified.issuingCountryUnbound, undefined);
    const { checks, ...told } = trust.verify(token, { ...all, checks: true });
    assert.ok(checks.length > 0 && checks.every((check) => check.passed));
    assert.deepEqual({ ...told, checks: undefined }, verified);
    assert.deepEqual(await trust.verifyAsync(token, all), verified);
    const refused = { kind: 'refused' };
    assert.throws(() => trust.verify(token, { ...all, nonce: 'another' }), refused);
    // Bytes may be changed, and the handle closed, once the call is made.
    const bytes = Buffer.from(token);
    const pending = trust.verifyAsync(bytes, all);
    bytes.fill(0);
    trust.close();
    const outcome = await pending.catch((error) => error);
    if (outcome instanceof Error) assert.equal(outcome.kind, 'misuse');
    else assert.deepEqual(outcome, verified);
  }
});

test('an entry takes roots for status lists and says how long a list counts', () => {
  const [{ issuer_id: issuerId, roots }] = cases.load().find((one) => one.trust[0].roots).trust;
  const trust = new idgate.Trust();
  trust.addIssuer(issuerId, { statusMaxAgeDays: 30, issuingCountryUnbound: true });
  trust.addStatusRoots(issuerId, cases.decode(roots[0]), { testOnly: true });
  assert.throws(() => trust.addIssuer(issuerId, { statusMaxAgeDays: 0 }), /status_max_age_days/);
});

test('an entry says what queries take from it', () => {
  const trust = new idgate.Trust();
  const claimPaths = { city: ['address', 'locality'], all: ['nationalities', null] };
  trust.addIssuer('dmv', { claimPaths, aki: true, deviceResponseDocuments: 'any' });
  assert.throws(() => trust.addIssuer('dmv', { claimPaths: { city: [] } }), { kind: 'config' });
  assert.throws(() => trust.addIssuer('dmv', { deviceResponseDocuments: 'two' }), { kind: 'config' });
});

test('an entry says what certificates of SD-JWT issuers are for', () => {
  const trust = new idgate.Trust();
  trust.addIssuer('dmv', { sdJwtEkus: ['1.2.3', '2.5.29.37.0'] });
  assert.throws(() => trust.addIssuer('dmv', { sdJwtEkus: ['one.two'] }), { kind: 'config' });
});

test('roots for SD-JWTs and for mdocs never stand for one another', () => {
  const { trust, token, expected } = captured('roots');
  const [{ roots }] = cases.load().find((one) => one.trust[0].roots).trust;
  const root = cases.decode(roots[0]);
  trust.addIssuer(expected.issuerId, { revocation: 'off' });
  trust.addSdJwtRoots(expected.issuerId, root);
  trust.addSdJwtSigners(expected.issuerId, root, { testOnly: true });
  const more = {
    format: 'mso_mdoc',
    docType: 'org.iso.18013.5.1.mDL',
    namespace: 'org.iso.18013.5.1',
    claims: ['family_name'],
  };
  assert.throws(() => trust.verify(token, { ...expected, ...more }), { code: 'untrusted_issuer' });
});

test('both module systems give the same classes', async () => {
  const modern = await import('idgate');
  assert.deepEqual(Object.keys(modern).filter((name) => name !== 'default').sort(), Object.keys(idgate).sort());
  assert.equal(modern.Trust, idgate.Trust);
});

test('a process that used worker threads ends well', () => {
  const program = `
    const cases = require('./cases.js');
    const one = cases.load().find((one) => one.expected.status === 'VERIFIED' && one.content_type);
    Promise.all(Array.from({ length: 16 }, () => cases.outcomeAsync(one)));
  `;
  execFileSync(process.execPath, ['-e', program], { cwd: __dirname });
});

test('more calls at once than there are threads wait for their turn', async () => {
  const trust = new idgate.Trust();
  trust.addIssuer(ISSUER);
  const expected = { format: 'vc+sd-jwt', issuerId: ISSUER, clientId: 'c', nonce: 'n' };
  const calls = Array.from({ length: 1000 }, () => trust.verifyAsync('x', expected));
  const outcomes = await Promise.allSettled(calls);
  assert.ok(outcomes.every((one) => one.reason?.code === 'malformed_presentation'));
});

test('errors speak JavaScript and name the clause', async () => {
  const trust = new idgate.Trust();
  assert.throws(() => trust.addRoots('nobody', 'x'), /add it with Trust\.addIssuer\(\)/);
  trust.addIssuer('i');
  assert.throws(() => trust.addVical('i', Buffer.from('x')), /testOnly: true/);
  const expected = { format: 'vc+sd-jwt', issuerId: 'i', clientId: 'c', nonce: 'n' };
  assert.throws(() => trust.verify('not an SD-JWT', expected), (error) => {
    assert.equal(error.kind, 'refused');
    assert.match(error.clause, /^(RFC|OpenID4VP|SD-JWT|ISO|HAIP|draft)/);
    return true;
  });
  await trust[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
  assert.throws(() => trust.addIssuer('i'), { message: 'this Trust is closed', clause: null });
});
