'use strict';
// Pages that ask their browser: the requests that they pass on, and the answers.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const ISSUER = 'https://issuer.example';
const SHOP = 'https://shop.example';
const REQUEST = {
  credentials: [{ format: 'dc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] }],
  redirectUri: 'https://shop.example/back',
};
const PAGE = { ...REQUEST, dcApi: { origins: [SHOP] } };
const live = (now) => ({ mode: 'live', now });

/** A verifier with a certificate, and a time at which it is valid. */
function certified(options) {
  const given = cases.certified();
  const now = new Date(given.now_ms);
  const key = new idgate.Signer(cases.BASE_URL, cases.decode(given.key));
  const trust = new idgate.Trust([{ id: ISSUER, vcts: ['urn:eudi:pid:1'], jwk: key.publicKey() }]);
  const signer = [key, key.certified(cases.decode(given.chain), { now })];
  return { now, verifier: new idgate.Verifier(cases.BASE_URL, trust, { signer, ...options }) };
}

test('a page passes on what the verifier signs', () => {
  const names = ['openid4vp-v1-multisigned', 'openid4vp-v1-signed', 'openid4vp-v1-unsigned'];
  ['multisigned', 'signed', 'unsigned'].forEach((dcApi, first) => {
    const protocols = names.slice(first);
    const { now, verifier } = certified({ profiles: ['haip'], dcApi });
    const { session } = verifier.createSession(PAGE, live(now));
    const info = session.info(now);
    assert.deepEqual(info.dcApi, { profile: 'haip', origins: [SHOP], protocols });
    assert.equal(info.offers.length, 1);
    const { requests } = verifier.dcApiRequests(session, { now });
    assert.deepEqual(
      requests.map((one) => one.protocol),
      protocols,
    );
    const { data } = requests.at(-1);
    assert.equal(data.response_mode, 'dc_api.jwt');
    for (const signed of requests.slice(0, -1)) {
      const { request } = signed.data;
      const payload = request.payload ?? request.split('.')[1];
      const claims = JSON.parse(cases.decode(payload));
      assert.equal(claims.nonce, data.nonce);
      assert.deepEqual(claims.expected_origins, [SHOP]);
    }
  });
});

test('an answer from a page gives the result', async () => {
  const verified = cases.load().filter((one) => one.expected.status === 'VERIFIED' && one.dc_api);
  const one = verified.find((candidate) => candidate.title.includes('openid4vp-v1-unsigned'));
  const [session, now] = [idgate.Session.restore(cases.decode(one.session)), new Date(one.now_ms)];
  const [verifier, answer] = [cases.verifierOf(one), JSON.parse(cases.decode(one.body))];
  const { requests } = verifier.dcApiRequests(session, { now });
  assert.ok(requests.some((asked) => asked.protocol === answer.protocol));
  const given = (asked, dcApi) => [asked, { dcApi }, cases.STORE, { now, fetch: () => null }];
  // As JSON or as a value.
  for (const dcApi of [JSON.stringify(answer), Buffer.from(JSON.stringify(answer))]) {
    assert.equal(verifier.decideSync(...given(session, dcApi)).status, 'VERIFIED');
  }
  const decision = await verifier.decide(...given(session, answer));
  assert.deepEqual([decision.status, decision.redirectUri], ['VERIFIED', null]);
  const settled = decision.transition.session;
  const { claims, verificationDetails } = settled.result({ responseCode: null }, now);
  assert.deepEqual(claims, one.expected.claims);
  assert.equal(verificationDetails.origin, SHOP);
  const closed = { name: 'NotAnAnswer', code: 'session_not_pending', httpStatus: 409 };
  assert.throws(() => verifier.decideSync(...given(settled, answer)), closed);
  assert.throws(() => verifier.dcApiRequests(settled, { now }), { name: 'NotAnAnswer' });
});

test('mdocs are also asked for by org-iso-mdoc, which an answer may be to', () => {
  const verified = cases.load().filter((one) => one.expected.status === 'VERIFIED' && one.dc_api);
  const one = verified.find((candidate) => /^good, .*org-iso-mdoc/.test(candidate.title));
  const [session, now] = [idgate.Session.restore(cases.decode(one.session)), new Date(one.now_ms)];
  const verifier = cases.verifierOf(one);
  assert.equal(JSON.parse(cases.decode(one.body)).protocol, 'org-iso-mdoc');
  assert.equal(session.info(now).dcApi.protocols.at(-1), 'org-iso-mdoc');
  const { protocol, data } = verifier.dcApiRequests(session, { now }).requests.at(-1);
  assert.equal(protocol, 'org-iso-mdoc');
  assert.deepEqual(Object.keys(data).sort(), ['deviceRequest', 'encryptionInfo']);
  const deviceRequest = cases.decode(data.deviceRequest).toString('latin1');
  assert.ok(deviceRequest.includes('org.iso.18013.5.1.mDL'));
  const settled = cases.decided(one).transition.session;
  const { claims, verificationDetails } = settled.result('backend', now);
  assert.deepEqual(claims, one.expected.claims);
  assert.equal(verificationDetails.credentials[0].sessionTranscript, 'iso18013-7-annex-c');
  // The answer is encrypted for another page.
  const copied = cases.load().find((candidate) => candidate.title === 'org-iso-mdoc, a copied page');
  assert.deepEqual(cases.outcome(copied), { error: 'decryption_failed' });
});

test('a new session asks for an mdoc by org-iso-mdoc, unless the tenant does without', () => {
  const one = cases.load().find((candidate) => /^good, .*org-iso-mdoc/.test(candidate.title));
  const issuer = cases.issuersOf(one).find(({ iacaRoots }) => iacaRoots.length > 0);
  const now = new Date(one.now_ms);
  const trust = new idgate.Trust([issuer]);
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'], dcApi: 'unsigned' });
  const credentials = [{ format: 'mso_mdoc', issuerId: issuer.id, claims: ['family_name'] }];
  const protocols = (dcApi) => {
    const { session } = verifier.createSession({ credentials, dcApi }, { mode: 'test', now });
    return verifier.dcApiRequests(session, { now }).requests.map((asked) => asked.protocol);
  };
  const origins = [SHOP];
  assert.deepEqual(protocols({ origins }), ['openid4vp-v1-unsigned', 'org-iso-mdoc']);
  assert.deepEqual(protocols({ origins, isoMdoc: false }), ['openid4vp-v1-unsigned']);
});

test('an invalid answer changes nothing', () => {
  const { now, verifier } = certified({ profiles: ['1.0'], dcApi: 'unsigned' });
  const { session } = verifier.createSession(PAGE, live(now));
  const protocol = 'openid4vp-v1-unsigned';
  for (const [code, answer] of [
    ['invalid_response', {}],
    ['invalid_response', 'not JSON'],
    ['invalid_response', { protocol: 'openid4vp-v1-signed', data: { response: 'j' } }],
    ['decryption_failed', { protocol, data: { response: 'a.b.c.d.e' } }],
  ]) {
    const refused = { name: 'NotAnAnswer', code, httpStatus: 400 };
    assert.throws(() => verifier.decideSync(session, { dcApi: answer }, cases.STORE, { now }), refused);
  }
});

test('without dcApi there is no request for pages', () => {
  const { now, verifier } = certified({ profiles: ['haip'] });
  const unknown = { name: 'RequestInvalid', code: 'unknown_field', path: 'dcApi' };
  assert.throws(() => verifier.createSession(PAGE, live(now)), unknown);
  const { session } = verifier.createSession(REQUEST, live(now));
  assert.equal(session.info(now).dcApi, null);
  assert.throws(() => verifier.dcApiRequests(session, { now }), { name: 'NotAnAnswer' });
  const misconfigured = { name: 'Misconfigured', field: 'dcApi' };
  assert.throws(() => certified({ profiles: ['draft'], dcApi: 'unsigned' }), misconfigured);
});
