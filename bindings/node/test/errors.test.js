'use strict';
// Messages of refusals never contain presented data, a nonce or a key.

const assert = require('node:assert/strict');
const util = require('node:util');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const PERSON = ['Erika', 'Mustermann', '1984-01-26', '1986-03-22'];

/** Everything that a log would have of the outcome. */
function said(one) {
  try {
    const { transition, report, reply, reason, status } = cases.decided(one);
    // Leave out the times, which the session contains.
    const effects = JSON.stringify(transition.effects, (name, value) => (/^(at|occurredAt)$/.test(name) ? '' : value));
    return `${util.inspect({ report, reply, reason, status }, { depth: 9 })} ${effects}`;
  } catch (error) {
    return util.inspect(error, { depth: 9 });
  }
}

/** The answer and the stored session, also in the encodings of tokens. */
function secrets(one) {
  const body = cases.decode(one.body).toString();
  const tokens = body.match(/[\w-]{24,}/g) ?? [];
  return [cases.decode(one.session).toString(), body, ...tokens.map((token) => cases.decode(token).toString())].join(
    '\n',
  );
}

test('no refusal contains presented data', () => {
  const refused = cases.load().filter(({ expected }) => expected.status !== 'VERIFIED');
  assert.ok(refused.length >= 15);
  let seen = 0;
  for (const one of refused) {
    const [text, own] = [said(one), secrets(one)];
    if (PERSON.some((name) => own.includes(name))) seen += 1;
    for (const name of PERSON) assert.ok(!text.includes(name), `${one.title}: ${text}`);
    // Names in the standards have no digit; parts of tokens, keys and nonces do.
    const words = (text.match(/[\w-]{12,}/g) ?? []).filter((word) => /[0-9][A-Za-z]|[A-Za-z][0-9]/.test(word));
    assert.deepEqual(
      words.filter((word) => own.includes(word)),
      [],
      one.title,
    );
  }
  assert.ok(seen > 5, 'there is something to say');
});

test('an unreadable input is not quoted', () => {
  const secret = '5ecret-0f-the-ca11er';
  const [bytes, issuer] = [Buffer.from(secret), 'https://issuer.example'];
  const jwk = { kty: 'EC', crv: 'P-256', x: secret, y: secret, d: secret };
  const trust = new idgate.Trust([{ id: issuer }]);
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'] });
  const session = idgate.Session.restore(cases.decode(cases.load()[0].session));
  const expected = { format: 'dc+sd-jwt', issuerId: issuer, clientId: secret, nonce: secret };
  const verify = (changed) => trust.verifySync('a~', { ...expected, ...changed });
  const mdoc = { format: 'mso_mdoc', docType: secret, namespace: secret, responseUri: secret };
  const decide = (answer) => verifier.decideSync(session, answer, cases.STORE);
  const trusting = (more) => new idgate.Trust([{ id: issuer, ...more }]);
  [
    () => verify({}),
    () => verify({ format: secret }),
    () => verify({ nonce: { is: secret } }),
    () => verify({ alg: secret }),
    () => verify({ claims: [[secret]] }),
    () => verify({ ...mdoc, encKey: { kty: secret } }),
    () => verify({ ...mdoc, encKey: jwk }),
    () => verify({ ...mdoc, apu: secret }),
    () => trust.verifySync(secret, expected),
    () => trusting({ jwk }),
    () => trusting({ jwk: JSON.stringify(secret) }),
    () => trusting({ jwk: { keys: [secret] } }),
    () => trusting({ publicKeyPem: `-----BEGIN PUBLIC KEY-----\n${secret}\n` }),
    () => trusting({ iacaRoots: secret }),
    () => trusting({ revocation: secret }),
    () => trusting({ namedInQueries: secret }),
    () => new idgate.Signer(cases.BASE_URL, bytes),
    () => idgate.Signer.external(cases.BASE_URL, jwk, (input) => input),
    () => idgate.didDocument(cases.BASE_URL, [jwk]),
    () => idgate.Session.restore(bytes),
    () => idgate.Session.restore(Buffer.from(JSON.stringify({ nonce: secret }))),
    () => decide({ to: session.id, body: bytes, contentType: 'application/x-www-form-urlencoded' }),
    () => decide({ to: session.id, body: JSON.stringify({ vp_token: secret }), contentType: 'application/json' }),
    () => decide({ dcApi: { protocol: secret, data: secret } }),
    () => verifier.createSession(`{"credentials": "${secret}" "`, { mode: 'live' }),
    () => verifier.createSession({ credentials: secret }, { mode: secret }),
    () => verifier.createSession({ credentials: secret }, { mode: 'live' }),
    () => new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'], clientId: secret }),
    () => new idgate.Webhook(secret).verify({ 'x-signature': secret }, bytes),
  ].forEach((work, number) => {
    assert.throws(work, (error) => {
      assert.ok(error instanceof idgate.IdgateError || error instanceof TypeError, `${number}: ${error}`);
      // Without the stack, which has this file's own lines.
      const told = { ...error, message: error.message };
      assert.ok(!util.inspect(told).includes(secret), `${number}: ${util.inspect(told)}`);
      return true;
    });
  });
});

test('an error has a hint in the words of this package', () => {
  const jwk = new idgate.Signer(cases.BASE_URL, Buffer.alloc(32, 7)).publicKey();
  const trust = new idgate.Trust([{ id: 'no-type', jwk }]);
  const verifier = new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'] });
  const asking = (more) => ({
    credentials: [{ format: 'dc+sd-jwt', issuerId: 'no-type', claims: ['given_name'] }],
    ...more,
  });
  for (const [request, hint] of [
    [asking({}), /^add `vcts` to the issuer$/],
    [asking({ profiles: ['draft'] }), /^name one of 1\.0$/],
  ]) {
    assert.throws(
      () => verifier.createSession(request, { mode: 'live' }),
      (problem) => {
        assert.equal(problem.name, 'RequestInvalid');
        assert.match(problem.hint, hint);
        assert.ok(problem.message.endsWith(problem.hint), problem.message);
        return true;
      },
    );
  }
  assert.throws(
    () => verifier.createSession({}, { mode: 'live' }),
    (problem) => !('hint' in problem),
  );
  const told = new idgate.Misconfigured({ why: 'no', hint: 'do' });
  assert.equal(told.hint, 'do');
});

test('a fault of this machine has the code of the gateway', () => {
  const { code, http } = new idgate.NotAvailable({ code: 'unavailable', message: 'no' });
  assert.deepEqual([code, JSON.parse(http.body).error], ['temporarily_unavailable', code]);
});
