'use strict';
// Issuers, and presentations that are verified without a session.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const ISSUER = 'https://issuer.example';
const EXPECTED = { format: 'dc+sd-jwt', issuerId: ISSUER, clientId: 'c', nonce: 'n' };
const VECTORS = process.env.IDGATE_VECTORS ?? path.join(__dirname, '../../../../shared/vectors');
const VICAL = path.join(VECTORS, 'vical', 'aamva-vical-2025-11-18.cbor');
const misconfigured = (issuer, field) => ({ name: 'Misconfigured', code: 'config', issuer, field });

/** The root of an mdoc issuer. */
function root() {
  const [{ roots }] = cases.load().find((one) => one.trust[0].roots).trust;
  return cases.decode(roots[0]);
}

/** Presentations: the format, the profile of the request, and a part of the title of a case. */
const KINDS = {
  'SD-JWT VC, draft': ['vc+sd-jwt', 'draft', 'good, Flat'],
  'SD-JWT VC, 1.0': ['dc+sd-jwt', '1.0', 'good, 1.0 by value, ["pid"]'],
  'mdoc, draft': ['mso_mdoc', 'draft', 'mdoc, nothing'],
  'mdoc, 1.0': ['mso_mdoc', '1.0', 'mdoc, 1.0 by value, nothing'],
};

/** The vp_token of a wallet, the terms of its request, and its issuer. */
function captured(kind) {
  const [format, profile, title] = KINDS[kind];
  const one = cases.load().find((each) => each.title === title);
  const vpToken = new URLSearchParams(cases.decode(one.body).toString()).get('vp_token');
  // In 1.0 it is a map by the ids of the queries.
  const token = profile === '1.0' ? Object.values(JSON.parse(vpToken))[0][0] : vpToken;
  const session = idgate.Session.restore(cases.decode(one.session));
  const now = new Date(one.now_ms);
  const request = new URL(session.info(now).qrCodeUrl).searchParams;
  const [issuer] = cases.issuersOf(one);
  const expected = {
    issuerId: issuer.id,
    clientId: request.get('client_id'),
    nonce: request.get('nonce'),
    mode: 'test',
    ...(format !== 'mso_mdoc'
      ? { format, claims: ['given_name'] }
      : {
          format,
          responseUri: request.get('response_uri'),
          profile,
          docType: 'org.iso.18013.5.1.mDL',
          namespace: 'org.iso.18013.5.1',
          claims: ['family_name'],
        }),
  };
  return { token, expected, now, issuer: { ...issuer, revocation: 'off' } };
}

for (const kind of Object.keys(KINDS)) {
  const isMdoc = kind.startsWith('mdoc');

  test(`one presentation is verified on this thread and on another: ${kind}`, async () => {
    const { token, expected, now, issuer } = captured(kind);
    const trust = new idgate.Trust([issuer]);
    const verified = trust.verifySync(token, expected, { now });
    assert.deepEqual(Object.keys(verified.claims), expected.claims);
    const { facts } = verified;
    assert.ok(facts.validUntil > now);
    assert.equal(facts.revocation, 'off');
    assert.deepEqual(facts.revocationDetails, { credential: 'off', signer: isMdoc ? 'off' : 'not_published' });
    assert.equal(facts.issuingCountryUnbound, undefined);
    assert.equal(verified.checks, undefined);
    const { checks, ...rest } = trust.verifySync(token, expected, { now, checks: true });
    assert.ok(checks.length > 0 && checks.every((check) => check.passed));
    assert.deepEqual(rest, verified);
    assert.deepEqual(await trust.verify(token, expected, { now }), verified);
    assert.deepEqual(await trust.check(token, expected, { now }), { ok: true, ...verified });
    assert.deepEqual(trust.checkSync(Buffer.from(token), expected, { now }), { ok: true, ...verified });
  });

  test(`a refusal names reason, check and clause, thrown or as a value: ${kind}`, async () => {
    const { token, expected, now, issuer } = captured(kind);
    const trust = new idgate.Trust([issuer]);
    const other = { ...expected, nonce: 'another' };
    const { ok, refused } = await trust.check(token, other, { now });
    assert.equal(ok, false);
    assert.ok(refused instanceof idgate.Refused && refused instanceof idgate.IdgateError);
    const [reason, clause] = isMdoc
      ? ['device_auth_invalid', 'ISO/IEC 18013-5 9.1.3.4, OpenID4VP B.2.6']
      : ['nonce_mismatch', 'RFC 9901 7.3 step 5f, OpenID4VP 14.1'];
    assert.deepEqual([refused.reason, refused.code, refused.clause], [reason, reason, clause]);
    assert.match(refused.check, isMdoc ? /^the device's key authenticated/ : /^nonce is this request's$/);
    assert.deepEqual(trust.checkSync(token, other, { now }), { ok, refused });
    await assert.rejects(trust.verify(token, other, { now }), { name: 'Refused', reason, clause });
    assert.throws(() => trust.verifySync(token, other, { now }), { name: 'Refused', reason, clause });
  });

  test(`bytes may change, and the trust be closed, once the call is made: ${kind}`, async () => {
    const { token, expected, now, issuer } = captured(kind);
    const trust = new idgate.Trust([issuer]);
    const verified = trust.verifySync(token, expected, { now });
    const bytes = Buffer.from(token);
    const pending = trust.verify(bytes, expected, { now });
    bytes.fill(0);
    trust.close();
    const outcome = await pending.catch((problem) => problem);
    if (outcome instanceof Error) assert.ok(outcome instanceof TypeError, outcome);
    else assert.deepEqual(outcome, verified);
  });
}

test('a claim is found by its path, and missing ones refuse', async () => {
  const { token, expected, now, issuer } = captured('SD-JWT VC, 1.0');
  const trust = new idgate.Trust([{ ...issuer, vcts: undefined, anyIss: true }]);
  const asked = { ...expected, claims: ['first'], claimPaths: { first: ['given_name'] } };
  const { claims } = await trust.verify(token, asked, { now });
  assert.deepEqual(claims, { first: 'Erika' });
  const missing = { name: 'Refused', reason: 'claim_missing' };
  await assert.rejects(trust.verify(token, { ...asked, claims: ['first', 'shoe_size'] }, { now }), missing);
});

test('more calls at once than there are threads wait for their turn', async () => {
  const trust = new idgate.Trust([{ id: ISSUER }]);
  const calls = Array.from({ length: 1000 }, () => trust.check('x', EXPECTED));
  const verdicts = await Promise.all(calls);
  assert.ok(verdicts.every(({ refused }) => refused.reason === 'malformed_presentation'));
});

test('trust does not change', () => {
  const issuers = [{ id: ISSUER, docTypes: ['a'] }];
  const trust = new idgate.Trust(issuers);
  assert.ok(Object.isFrozen(trust) && Object.isFrozen(trust.lists));
  assert.throws(() => {
    trust.lists = [];
  }, TypeError);
});

test('an error names issuer and field', () => {
  const jwk = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
  for (const [field, issuer, at = field] of [
    ['jwk', { jwk }],
    ['jwk', { jwk: { keys: [] } }],
    ['jwk', { jwk: 'no JSON' }],
    ['publicKeyPem', { publicKeyPem: 'x' }],
    ['iacaRoots', { iacaRoots: 'x' }],
    ['iacaRoots', { iacaRoots: [root(), 'x'] }, 'iacaRoots[1]'],
    ['mdocSigners', { mdocSigners: Buffer.alloc(0) }],
    ['x5cRoots', { x5cRoots: 'x' }],
    ['x5cSigners', { x5cSigners: 'x' }],
    ['statusRoots', { statusRoots: 'x' }],
    ['crls', { iacaRoots: root(), crls: 'x' }],
    ['vical', { vical: 'x' }],
    ['masterList', { masterList: { file: 'x', signedBelow: 'x' } }],
    ['trustedList', { testOnly: true, trustedList: 'x' }],
    ['revocation', { revocation: 'maybe' }],
    ['onUnknownRevocation', { onUnknownRevocation: 'maybe' }],
    ['onUnknownRevocation', { revocation: 'required', onUnknownRevocation: 'accept' }],
    ['deviceResponseDocuments', { deviceResponseDocuments: 'two' }],
    ['mdocEkus', { mdocEkus: ['one.two'] }, 'mdocEkus[0]'],
    ['x5cEkus', { x5cEkus: ['1.2.3', 'one.two'] }, 'x5cEkus[1]'],
    ['statusMaxAgeDays', { statusMaxAgeDays: 0 }],
    ['statusMaxAgeDays', { statusMaxAgeDays: 1.5 }],
    ['claimPaths', { claimPaths: { city: [] } }, 'claimPaths.city'],
    ['iss', { iss: 'x', anyIss: true }],
  ]) {
    const named = { id: 'dmv', ...issuer };
    const message = new RegExp(`^dmv: ${at.replace(/[[\]]/g, '\\$&')}: \\S`);
    assert.throws(() => new idgate.Trust([{ id: 'a' }, named]), { ...misconfigured('dmv', at), message }, field);
  }
  assert.throws(() => new idgate.Trust([{ id: 'a' }, { id: 'a' }]), misconfigured('a', 'id'));
});

test('fields of a wrong type are named', () => {
  for (const [wrong, message] of [
    [{}, /issuers\[0\]: id is not text/],
    [null, /issuers\[0\]/],
    ['dmv', /issuers\[0\]/],
    [{ id: 1 }, /id is not text/],
    [{ id: 'a', docTypes: 'x' }, /docTypes is not an array of texts/],
    [{ id: 'a', vct: ['x'] }, /no option "vct"/],
    [{ id: 'a', doc_types: ['x'] }, /no option "doc_types"/],
    [{ id: 'a', iacaRoots: { file: 'x' } }, /iacaRoots is not text or bytes/],
    [{ id: 'a', iacaRoots: new URL('file:///iaca.pem') }, /iacaRoots is not text or bytes/],
    [{ id: 'a', vical: { signedBelow: 'x' } }, /vical: file is missing/],
    [{ id: 'a', vical: { file: 'x', signer_ca: 'x' } }, /vical: there is no option "signer_ca"/],
    [{ id: 'a', testOnly: 'yes' }, /testOnly is not true or false/],
    [{ id: 'a', claimPaths: { city: ['a', 0] } }, /claimPaths is not/],
    [{ id: 'a', revocation: true }, /revocation is not text/],
  ]) {
    assert.throws(() => new idgate.Trust([wrong]), { name: 'TypeError', message });
  }
  for (const wrong of [undefined, {}, 'x']) assert.throws(() => new idgate.Trust(wrong), TypeError);
});

test('an issuer has every field of the library', () => {
  const trust = new idgate.Trust([
    {
      id: 'dmv',
      iss: 'https://dmv.example',
      vcts: ['urn:x'],
      docTypes: ['org.iso.18013.5.1.mDL'],
      namespaces: ['org.iso.18013.5.1'],
      claimPaths: { city: ['address', 'locality'], all: ['nationalities', null] },
      defaultClaims: ['family_name'],
      countries: ['UT'],
      mdocEkus: ['1.0.18013.5.1.2'],
      x5cEkus: ['1.2.3', '2.5.29.37.0'],
      revocation: 'if_published',
      onUnknownRevocation: 'tenant',
      statusMaxAgeDays: 30,
      namedInQueries: true,
      trustedListUrls: ['https://list.example/eu.json'],
      deviceResponseDocuments: 'any',
      issuingCountryUnbound: true,
      iacaRoots: [root(), root()],
      statusRoots: root(),
      testOnly: true,
    },
  ]);
  assert.deepEqual(trust.lists, []);
});

test('an issuer that is not trusted is not verified', async () => {
  const trust = new idgate.Trust([]);
  await assert.rejects(trust.verify('x', EXPECTED), idgate.IdgateError);
  const refused = { name: 'Refused', reason: 'malformed_presentation' };
  assert.throws(() => new idgate.Trust([{ id: ISSUER }]).verifySync('x', EXPECTED), refused);
});

test('an incomplete expectation is a TypeError', async () => {
  const trust = new idgate.Trust([{ id: ISSUER }]);
  const mdoc = { ...EXPECTED, format: 'mso_mdoc', docType: 'd', namespace: 'n', responseUri: 'u' };
  for (const [expected, name] of [
    ...Object.keys(EXPECTED).map((part) => [{ ...EXPECTED, [part]: undefined }, part]),
    ...['docType', 'namespace', 'responseUri'].map((part) => [{ ...mdoc, [part]: undefined }, part]),
    [{ ...EXPECTED, nonce: 1 }, 'nonce'],
    [{ ...EXPECTED, format: 'sd-jwt' }, 'format'],
    [{ ...EXPECTED, claims: 'given_name' }, 'claims'],
    [{ ...EXPECTED, issuer_id: 'x' }, 'issuer_id'],
  ]) {
    const wrong = { name: 'TypeError', message: new RegExp(`\\b${name}\\b`) };
    await assert.rejects(trust.check('x', expected), wrong);
    assert.throws(() => trust.verifySync('x', expected), wrong);
  }
  for (const wrong of [undefined, 1, {}]) await assert.rejects(trust.check(wrong, EXPECTED), TypeError);
});

test('roots for SD-JWTs and for mdocs are separate', () => {
  const { token, expected, now, issuer } = captured('mdoc, draft');
  const moved = { id: issuer.id, revocation: 'off', x5cRoots: issuer.iacaRoots, x5cSigners: issuer.iacaRoots };
  const trust = new idgate.Trust([moved]);
  assert.throws(() => trust.verifySync(token, expected, { now }), { name: 'Refused', reason: 'untrusted_issuer' });
});

const skip = fs.existsSync(VICAL) ? false : 'there is no third-party data';

test('the certificates of a list are reported', { skip }, () => {
  const file = fs.readFileSync(VICAL);
  const trust = new idgate.Trust([{ id: ISSUER, testOnly: true, vical: { file, allowStale: true } }]);
  const [{ issuerId, field, certificates }, ...others] = trust.lists;
  assert.deepEqual([issuerId, field, others], [ISSUER, 'vical', []]);
  assert.ok(certificates.length > 0);
  for (const one of certificates) {
    const names = ['country', 'expired', 'key', 'sha256', 'skippedBecause', 'subject'];
    assert.deepEqual(Object.keys(one).sort(), names);
  }
  const unknown = { ...misconfigured(ISSUER, 'vical'), message: /CA|signer/ };
  assert.throws(() => new idgate.Trust([{ id: ISSUER, vical: { file, allowStale: true } }]), unknown);
});
