'use strict';
// What is said when something is refused: never what was presented, nor a nonce or a key.

const assert = require('node:assert/strict');
const util = require('node:util');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const PERSON = ['Erika', 'Mustermann', '1984-01-26', '1986-03-22'];

/** All that a log would have of what comes of it. */
function said(one) {
  try {
    const { transition, report, reason, status } = cases.decided(one);
    return `${util.inspect({ report, reason, status }, { depth: 9 })} ${JSON.stringify(transition.effects)}`;
  } catch (error) {
    return util.inspect(error, { depth: 9 });
  }
}

/** What came and what is kept of the session, also as tokens carry it. */
function secrets(one) {
  const body = cases.decode(one.body).toString();
  const tokens = body.match(/[\w-]{24,}/g) ?? [];
  return [cases.decode(one.session).toString(), body, ...tokens.map((token) => cases.decode(token).toString())].join('\n');
}

test('no refusal says what was presented', () => {
  const refused = cases.load().filter(({ expected }) => expected.status !== 'VERIFIED');
  assert.ok(refused.length >= 15);
  let seen = 0;
  for (const one of refused) {
    const [text, own] = [said(one), secrets(one)];
    if (PERSON.some((name) => own.includes(name))) seen += 1;
    for (const name of PERSON) assert.ok(!text.includes(name), `${one.title}: ${text}`);
    // Names of the standards have no digit; parts of tokens, keys and nonces do.
    const words = (text.match(/[\w-]{12,}/g) ?? []).filter((word) => /[0-9][A-Za-z]|[A-Za-z][0-9]/.test(word));
    assert.deepEqual(words.filter((word) => own.includes(word)), [], one.title);
  }
  assert.ok(seen > 5, 'there is something to say');
});

test('what is given and cannot be read is not quoted', () => {
  const secret = '5ecret-0f-the-ca11er';
  const [bytes, issuer] = [Buffer.from(secret), 'https://issuer.example'];
  const jwk = { kty: 'EC', crv: 'P-256', x: secret, y: secret, d: secret };
  const trust = new idgate.Trust();
  trust.addIssuer(issuer);
  const verifier = new idgate.Verifier(cases.BASE_URL, trust);
  const session = idgate.Session.restore(cases.decode(cases.load()[0].session));
  const expected = { format: 'vc+sd-jwt', issuerId: issuer, clientId: secret, nonce: secret };
  const verify = (changed) => trust.verify('a~', { ...expected, ...changed });
  [
    () => verify({}),
    () => verify({ format: secret }),
    () => verify({ nonce: { is: secret } }),
    () => verify({ alg: secret }),
    () => verify({ claims: [[secret]] }),
    () => verify({ encKey: { kty: secret } }),
    () => verify({ encKey: jwk }),
    () => trust.verify(secret, expected),
    () => trust.addJwk(issuer, jwk),
    () => trust.addJwk(issuer, JSON.stringify(secret)),
    () => trust.addJwk(issuer, { keys: [secret] }),
    () => trust.addPublicKey(issuer, `-----BEGIN PUBLIC KEY-----\n${secret}\n`),
    () => trust.addRoots(issuer, secret),
    () => trust.addIssuer(issuer, { revocation: secret }),
    () => trust.addIssuer(issuer, { aki: secret }),
    () => new idgate.Signer(cases.BASE_URL, bytes),
    () => idgate.Signer.external(cases.BASE_URL, jwk, (input) => input),
    () => idgate.didDocument(cases.BASE_URL, [jwk]),
    () => idgate.Session.restore(bytes),
    () => idgate.Session.restore(Buffer.from(JSON.stringify({ nonce: secret }))),
    () => verifier.begin(session, bytes, 'application/x-www-form-urlencoded'),
    () => verifier.begin(session, JSON.stringify({ vp_token: secret }), 'application/json'),
    () => verifier.beginDcApi(session, { protocol: secret, data: secret }),
    () => verifier.createSession(`{"credentials": "${secret}" "`),
    () => new idgate.Verifier(cases.BASE_URL, trust, { clientId: secret }),
    () => idgate.webhook.verify(secret, { 'x-signature': secret }, bytes),
  ].forEach((work, number) => {
    assert.throws(work, (error) => {
      assert.ok(error instanceof idgate.IdgateError, `${number}: ${error}`);
      // Without the stack, which has this file's own lines.
      const told = { ...error, message: error.message };
      assert.ok(!util.inspect(told).includes(secret), `${number}: ${util.inspect(told)}`);
      return true;
    });
  });
});
