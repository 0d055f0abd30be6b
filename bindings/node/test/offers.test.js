'use strict';
// Several profiles: offers, the redirect of the browser, and the identity of a verifier.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const ISSUER = 'https://issuer.example';
const REQUEST = {
  credentials: [{ format: 'dc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] }],
};

const live = (now) => ({ mode: 'live', now });

/** A signer, its certificate, and a trust with one issuer. */
function certified() {
  const given = cases.certified();
  const [now, chain] = [new Date(given.now_ms), cases.decode(given.chain)];
  const signer = new idgate.Signer(cases.BASE_URL, cases.decode(given.key));
  const trust = new idgate.Trust([{ id: ISSUER, vcts: ['urn:eudi:pid:1'], jwk: signer.publicKey() }]);
  return { now, chain, signer, trust };
}

function offered(verifier, now) {
  const request = { ...REQUEST, redirectUri: 'https://shop.example/back' };
  const { session } = verifier.createSession(request, live(now));
  const { offers } = session.info(now);
  assert.equal(offers.length, 1);
  return { session, offer: offers[0] };
}

test('a certificate names the verifier and is in its requests', () => {
  const { now, chain, signer, trust } = certified();
  const named = signer.certified(chain, { now });
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, {
    signer: [signer, named],
    profiles: ['haip', 'draft'],
    requestUriMethod: 'post',
  });
  for (const one of [signer, named]) one.close();
  const { session, offer } = offered(verifier, now);
  assert.deepEqual([offer.handle, offer.profile], [session.id, 'haip']);
  assert.ok(offer.clientId.startsWith('x509_hash:'), offer.clientId);
  const query = new URL(offer.deepLinks.haip).searchParams;
  assert.equal(query.get('client_id'), offer.clientId);
  assert.equal(query.get('request_uri'), offer.requestUri);
  assert.equal(query.get('request_uri_method'), 'post');
  const options = { to: offer.handle, walletNonce: 'w', now };
  const parts = verifier.requestObject(session, options).jwt.split('.');
  const [header, claims] = parts.slice(0, 2).map((part) => JSON.parse(cases.decode(part)));
  assert.deepEqual(header.x5c, [chain.toString('base64')]);
  assert.deepEqual([claims.client_id, claims.wallet_nonce], [offer.clientId, 'w']);
  assert.equal(claims.response_uri, offer.responseUri);
  const unknown = { to: 'off_1', now };
  assert.throws(() => verifier.requestObject(session, unknown), {
    name: 'NotAnAnswer',
    code: 'not_found',
    httpStatus: 404,
  });
  const answer = { to: 'off_1', body: Buffer.from('vp_token=x') };
  assert.throws(() => verifier.decideSync(session, answer, cases.STORE, { now }), { name: 'NotAnAnswer' });
});

test('a request names its profiles and gets an offer for each', () => {
  const { now, chain, signer, trust } = certified();
  const both = { ...REQUEST, profiles: ['draft', '1.0'] };
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, {
    signer: [signer, signer.certified(chain, { now })],
    profiles: ['1.0', 'draft'],
  });
  const { session } = verifier.createSession(both, live(now));
  const [own, other] = session.info(now).offers;
  assert.deepEqual([own.profile, own.handle, other.profile], ['draft', session.id, '1.0']);
  assert.deepEqual(session.handles, [own.handle, other.handle]);
  assert.ok(other.responseUri.endsWith(other.handle));
  const { jwt } = verifier.requestObject(session, { to: other.handle, now });
  assert.ok('dcql_query' in JSON.parse(cases.decode(jwt.split('.')[1])));
  const nothing = { name: 'Misconfigured', message: /haip, which needs a signer with a certificate/ };
  assert.throws(() => new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0', 'haip'] }), nothing);
  const without = new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'] });
  for (const profile of ['haip', 'draft']) {
    const refused = { name: 'RequestInvalid', code: 'unsupported_profile' };
    const request = { ...REQUEST, redirectUri: 'https://shop.example/back', profile };
    assert.throws(() => without.createSession(request, live(now)), refused);
  }
});

test('the result is for the browser with the code of the redirect', () => {
  const { decision, now } = verified('haip');
  const settled = decision.transition.session;
  const code = new URL(decision.redirectUri).searchParams.get('response_code');
  const withheld = (reason) => ({ name: 'Withheld', reason });
  const read = (responseCode, at = now) => settled.result({ responseCode }, at);
  for (const none of [null, undefined]) assert.throws(() => read(none), withheld('response_code_missing'));
  for (const wrong of ['another', code.slice(1)]) assert.throws(() => read(wrong), withheld('response_code_wrong'));
  assert.throws(() => read(''), { name: 'Withheld' });
  assert.deepEqual(read(code), settled.result('backend', now));
  assert.throws(() => read(code, new Date(now.getTime() + 30_000)), withheld('redacted'));
  const byValue = verified('1.0 by value');
  assert.ok(byValue.decision.transition.session.result({ responseCode: null }, byValue.now).claims);
});

/** The outcome of the first valid answer to a link with this in its title, and its time. */
function verified(title) {
  const good = cases.load().filter((one) => one.expected.status === 'VERIFIED');
  const one = good.find((candidate) => candidate.title.includes(title) && !candidate.dc_api);
  return { decision: cases.decided(one), now: new Date(one.now_ms) };
}

/** Valid for a minute, and not signed by a registrar, which only wallets would check. */
function registrationOf(claim, now) {
  const registered = {
    format: 'dc+sd-jwt',
    meta: { vct_values: ['urn:eudi:pid:1'] },
    claim: [{ path: [claim] }],
  };
  const iat = now.getTime() / 1000;
  const payload = { sub: 'VATUT-123', iat, exp: iat + 60, credentials: [registered] };
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return [part({ alg: 'ES256', typ: 'rc-wrp+jwt' }), part(payload), 'c2ln'].join('.');
}

test('a registration certificate goes to wallets, and excess claims are reported or refused', () => {
  const { now, chain, signer, trust } = certified();
  const named = signer.certified(chain, { now });
  const registration = registrationOf('given_name', now);
  const minute = new Date(now.getTime() + 60_000);
  assert.deepEqual(named.checkRegistration(registration, { now }), {
    subject: 'VATUT-123',
    issuedAt: now,
    expiresAt: minute,
    compared: true,
  });
  for (const refused of [
    () => named.checkRegistration(registration, { now: minute }),
    () => named.checkRegistration('a.b.c', { now }),
    () => signer.checkRegistration(registration, { now }),
  ]) {
    assert.throws(refused, { name: 'Misconfigured' });
  }
  const options = { signer: [signer, named], profiles: ['haip', 'draft'] };
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, options);
  const request = { ...REQUEST, redirectUri: 'https://shop.example/back' };
  const good = { sent: true, expired: false, beyond: [] };
  assert.deepEqual(verifier.compareRegistration(registration, request, live(now)), good);
  const { session } = verifier.createSession(request, { registration, strict: true, ...live(now) });
  const [, claims] = verifier.requestObject(session, { to: session.id, now }).jwt.split('.');
  const sent = [{ format: 'registration_cert', data: registration }];
  assert.deepEqual(JSON.parse(cases.decode(claims)).verifier_info, sent);
  const other = registrationOf('family_name', now);
  const { beyond } = verifier.compareRegistration(other, request, live(now));
  assert.deepEqual(beyond, ['given_name of urn:eudi:pid:1']);
  verifier.createSession(request, { registration: other, ...live(now) });
  const draft = { ...REQUEST, profile: 'draft' };
  assert.equal(verifier.compareRegistration(other, draft, live(now)).sent, false);
  const expired = verifier.compareRegistration(registration, request, live(minute));
  assert.deepEqual([expired.sent, expired.expired], [false, true]);
  for (const [code, given, at] of [
    ['invalid_request', other, now],
    ['unsupported_profile', registration, minute],
  ]) {
    const strict = { registration: given, strict: true, ...live(at) };
    assert.throws(() => verifier.createSession(request, strict), { name: 'RequestInvalid', code });
  }
});

test('OpenID4VP 1.0 goes by value without a signer', () => {
  const { now, trust } = certified();
  const plain = new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'] });
  const { session, offer } = offered(plain, now);
  assert.deepEqual([offer.profile, offer.requestUri], ['1.0', null]);
  const query = new URL(session.info(now).qrCodeUrl).searchParams;
  assert.ok(query.has('dcql_query'));
  assert.equal(query.get('response_mode'), 'direct_post');
  const options = { profiles: ['1.0'], responseMode: 'direct_post.jwt' };
  const encrypted = offered(new idgate.Verifier(cases.BASE_URL, trust, options), now);
  assert.ok(encrypted.offer.deepLinks.openid4vp.includes('response_mode=direct_post.jwt'));
});

test('options that do not fit together are refused', () => {
  const { now, chain, signer, trust } = certified();
  const named = signer.certified(chain, { now });
  const other = new idgate.Signer(cases.BASE_URL, idgate.generateSigningKey());
  const san = { profiles: ['1.0'], clientId: 'x509_san_dns', signer: named };
  new idgate.Verifier(cases.BASE_URL, trust, san).close();
  const profiles = ['1.0'];
  for (const [refused, field] of [
    [() => other.certified(chain, { now })],
    [() => signer.certified(chain, { now: new Date(0) })],
    [() => new idgate.Verifier('https://b.example', trust, san)],
    [() => new idgate.Verifier('ftp://b.example', trust, { profiles })],
    [() => new idgate.Verifier(cases.BASE_URL, trust, { profiles, requestMode: 'jar' }), 'requestMode'],
    [() => new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['2.0'] }), 'profiles'],
    [() => new idgate.Verifier(cases.BASE_URL, trust, { profiles: [] }), 'profiles'],
    [() => new idgate.Verifier(cases.BASE_URL, trust, { profiles, clientId: 'redirect_uri' }), 'clientId'],
  ]) {
    assert.throws(refused, { name: 'Misconfigured', issuer: null, ...(field && { field }) });
  }
});
