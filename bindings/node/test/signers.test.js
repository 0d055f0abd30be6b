'use strict';
// Keys that sign requests: in memory, or through a function.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const idgate = require('idgate');
const cases = require('./cases.js');

const NOW = new Date('2026-11-21T12:00:00Z');
const ISSUER = 'https://issuer.example';
const REQUEST = {
  credentials: [{ format: 'dc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] }],
};
const PUBLIC_KEY = new idgate.Signer(cases.BASE_URL, Buffer.alloc(32, 7)).publicKey();

/** The parts of a request that `signer` signed. */
function fetched(signer) {
  const trust = new idgate.Trust([{ id: ISSUER, jwk: PUBLIC_KEY }]);
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['draft'], signer });
  signer.close();
  const { session } = verifier.createSession(REQUEST, { mode: 'live', now: NOW });
  const query = new URL(session.info(NOW).qrCodeUrl).searchParams;
  assert.deepEqual([...query.keys()].sort(), ['client_id', 'request_uri']);
  const asked = { to: session.id, walletNonce: 'w', now: NOW };
  const { jwt, transition } = verifier.requestObject(session, asked);
  assert.equal(transition.session.info(NOW).status, 'PENDING');
  assert.equal(verifier.requestObject(transition.session, asked).transition, null);
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
  assert.deepEqual(
    keys.map((one) => one.kid),
    document.authentication,
  );
  assert.equal(keys[0].d, undefined);
});

test('a verifier publishes the keys that sign under its DID, those of former signers too', () => {
  const { key, chain, now_ms: ms } = cases.certified();
  const [signer, former] = [cases.decode(key), Buffer.alloc(32, 7)].map(
    (one) => new idgate.Signer(cases.BASE_URL, one),
  );
  const certified = signer.certified(cases.decode(chain), { now: new Date(ms) });
  const trust = new idgate.Trust([]);
  const published = (options) => {
    const verifier = new idgate.Verifier(cases.BASE_URL, trust, options);
    const { keys } = verifier.jwks();
    const document = verifier.didDocument();
    assert.deepEqual(
      document?.authentication ?? [],
      keys.map((one) => one.kid),
    );
    return keys.map((one) => one.x).sort();
  };
  const [own, other] = [signer, former].map((one) => one.publicKey().x);
  const profiles = ['draft'];
  assert.deepEqual(published({ profiles }), []);
  assert.deepEqual(published({ profiles: ['haip'], signer: certified }), []);
  const all = { profiles: ['haip', ...profiles], signer: [signer, certified], formerSigners: [former, signer] };
  assert.deepEqual(published(all), [own, other].sort());
});

test('a function signs and may fail', () => {
  const seen = [];
  const sign = (input) => {
    seen.push(input.toString());
    return Buffer.alloc(64, 1);
  };
  const parts = fetched(idgate.Signer.external(cases.BASE_URL, PUBLIC_KEY, sign));
  assert.equal(seen[0], `${parts[0]}.${parts[1]}`);
  assert.deepEqual(cases.decode(parts[2]), Buffer.alloc(64, 1));
  const broken = [
    () => Buffer.alloc(63),
    () => {
      throw new Error('the HSM does not answer');
    },
  ];
  for (const fail of broken) {
    const signer = idgate.Signer.external(cases.BASE_URL, PUBLIC_KEY, fail);
    assert.throws(() => fetched(signer), { name: 'NotAvailable', retryAfter: 1 });
  }
});

test('functions of collected signers are released', async () => {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc');
  const sign = () => Buffer.alloc(64, 1);
  const kept = idgate.Signer.external(cases.BASE_URL, PUBLIC_KEY, sign);
  // koffi has room for 8192 functions.
  for (let round = 0; round < 10; round += 1) {
    for (let n = 0; n < 1000; n += 1) idgate.Signer.external(cases.BASE_URL, PUBLIC_KEY, sign).close();
    assert.throws(() => idgate.Signer.external(cases.BASE_URL, '{}', sign), { name: 'Misconfigured' });
    collect();
    await new Promise(setImmediate);
  }
  assert.equal(fetched(kept).length, 3);
});

test('keys that cannot be used are refused', () => {
  for (const key of [Buffer.alloc(31), Buffer.alloc(32), Buffer.alloc(0)]) {
    assert.throws(() => new idgate.Signer(cases.BASE_URL, key), { name: 'Misconfigured' });
  }
  for (const key of [undefined, 'key', PUBLIC_KEY]) {
    assert.throws(() => new idgate.Signer(cases.BASE_URL, key), TypeError);
  }
  assert.throws(() => idgate.Signer.external(cases.BASE_URL, PUBLIC_KEY, 'sign'), TypeError);
  assert.throws(() => idgate.Signer.external('ftp://x', PUBLIC_KEY, () => {}), { name: 'Misconfigured' });
});
