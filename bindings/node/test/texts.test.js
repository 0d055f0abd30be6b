'use strict';
// Messages for hundreds of wrong inputs. They use the words of JavaScript only.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const idgate = require('idgate');
const { REQUEST } = require('../src/request.js');
const cases = require('./cases.js');

const ISSUER = 'https://issuer.example';
const BASE = cases.BASE_URL;
const FORM = 'application/x-www-form-urlencoded';
const LIVE = { mode: 'live' };
const KEY = new idgate.Signer(BASE, Buffer.alloc(32, 7));
const TRUST = new idgate.Trust([{ id: ISSUER, vcts: ['urn:x'], jwk: KEY.publicKey() }, { id: 'empty' }]);
const VERIFIER = new idgate.Verifier(BASE, TRUST, { profiles: ['1.0', 'draft'], dcApi: 'unsigned' });
const CARD = { id: 'a', format: 'dc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] };
const REQUESTED = { credentials: [CARD] };

/** Values that are wrong almost everywhere. */
const VALUES = [null, true, -1, 1.5, '', 'x', '<script>', 'x'.repeat(3000), [], ['x', 'x'], [[]], {}, { wrong: {} }];

/** Words of C, of a command line, and of a gateway. */
const FOREIGN = /--|IDGATE_|idgate_|NULL|line \d+ column|the operator|\[object|undefined/;
/** Names on the wire, and names of options in C. */
const OF_THE_WIRE = new Set([
  ...[...REQUEST.names()].filter(([wire, own]) => wire !== own).map(([wire]) => wire),
  ...['request_mode', 'response_mode', 'request_uri_method', 'dc_api', 'base_url', 'trust_version', 'former_signers'],
  ...['doc_types', 'claim_paths', 'status_max_age_days', 'default_claims', 'device_response_documents', 'signer_ca'],
  ...[
    'iaca_roots',
    'x5c_roots',
    'mdoc_signers',
    'public_key_pem',
    'mdoc_ekus',
    'x5c_ekus',
    'any_iss',
    'named_in_queries',
    'allow_stale',
  ],
  ...['enc_key', 'response_uri', 'sent_at_ms', 'name_space', 'content_type', 'tolerance_ms'],
  ...['previous_secret', 'public_key', 'response_code', 'claims_paths', 'test_only', 'trusted_list', 'master_list'],
]);

function* requests() {
  for (const [name, , inner] of REQUEST.entries()) {
    for (const value of VALUES) {
      yield () => VERIFIER.createSession({ ...REQUESTED, [name]: value }, LIVE);
      yield () => VERIFIER.compareRegistration('a.b.c', { ...REQUESTED, [name]: value }, LIVE);
    }
    for (const [member] of inner?.entries() ?? []) {
      for (const value of VALUES) {
        const changed = name === 'credentials' ? [{ ...CARD, [member]: value }] : [{ [member]: value }];
        yield () => VERIFIER.createSession({ ...REQUESTED, [name]: name === 'dcApi' ? changed[0] : changed }, LIVE);
      }
    }
  }
  for (const more of [
    { format: 'mso_mdoc' },
    { format: 'mso_mdoc', issuerId: 'empty' },
    { issuerId: 'empty' },
    { issuerId: 'another' },
    { claims: ['a'], claimPaths: { b: ['c'] } },
    { claims: ['a', 'a'] },
    { docType: 'd', namespace: 'n' },
  ]) {
    yield () => VERIFIER.createSession({ credentials: [{ ...CARD, ...more }] }, LIVE);
  }
  for (const more of [
    { profile: 'haip' },
    { profiles: ['draft'], dcApi: { origins: ['https://a.example'] } },
    { profiles: ['draft'], transactionData: [{ type: 't', credentialIds: ['a'] }] },
    { redirectUri: 'javascript:alert(1)' },
    { sameSubjectGroups: [['a', 'b']] },
    { credentials: Array(11).fill(CARD) },
    { credentialSets: [{ options: [['b']] }] },
  ]) {
    yield () => VERIFIER.createSession({ ...REQUESTED, ...more }, LIVE);
  }
}

function* issuers() {
  const fields = ['jwk', 'publicKeyPem', 'iacaRoots', 'mdocSigners', 'x5cRoots', 'x5cSigners', 'statusRoots', 'crls'];
  const others = ['vical', 'masterList', 'trustedList', 'vcts', 'docTypes', 'namespaces', 'claimPaths', 'countries'];
  const rest = ['defaultClaims', 'iss', 'mdocEkus', 'x5cEkus', 'revocation', 'statusMaxAgeDays', 'namedInQueries'];
  const last = ['onUnknownRevocation', 'deviceResponseDocuments', 'issuingCountryUnbound', 'testOnly', 'id'];
  for (const field of [...fields, ...others, ...rest, ...last]) {
    for (const value of VALUES) yield () => new idgate.Trust([{ id: ISSUER, [field]: value }]);
  }
  for (const list of ['vical', 'masterList', 'trustedList']) {
    for (const more of [{}, { signedBelow: 'x' }, { allowStale: true }]) {
      for (const testOnly of [false, true]) {
        yield () => new idgate.Trust([{ id: ISSUER, testOnly, [list]: { file: 'x', ...more } }]);
      }
    }
  }
  yield () => new idgate.Trust([{ id: 'a' }, { id: 'a' }]);
}

function* verifiers() {
  const options = [
    'profiles',
    'signer',
    'formerSigners',
    'requestMode',
    'clientId',
    'responseMode',
    'requestUriMethod',
    'dcApi',
    'fetch',
  ];
  for (const option of options) {
    for (const value of VALUES) yield () => new idgate.Verifier(BASE, TRUST, { profiles: ['1.0'], [option]: value });
  }
  for (const more of [
    { requestMode: 'jar' },
    { profiles: ['haip'] },
    { profiles: ['haip'], signer: KEY },
    { profiles: ['1.0'], clientId: 'x509_san_dns', signer: KEY },
    { profiles: ['1.0'], clientId: 'x509_hash', signer: KEY },
    { profiles: ['1.0'], dcApi: 'signed' },
    { profiles: ['1.0', '1.0'] },
  ]) {
    yield () => new idgate.Verifier(BASE, TRUST, { profiles: ['1.0'], ...more });
  }
  for (const url of [...VALUES, 'http://shop.example', 'https://shop.example/x', 'https://127.0.0.1']) {
    yield () => new idgate.Verifier(url, TRUST, { profiles: ['1.0'] });
    yield () => new idgate.Signer(url, Buffer.alloc(32, 7));
    yield () => idgate.didDocument(url, [KEY.publicKey()]);
  }
}

function* answers() {
  const { session } = VERIFIER.createSession({ ...REQUESTED, dcApi: { origins: ['https://a.example'] } }, LIVE);
  const ended = session.due(new Date(Date.now() + 1e9)).session;
  const decide = (answer, of = session) => VERIFIER.decideSync(of, answer, cases.STORE);
  for (const value of VALUES) {
    yield () => decide(value);
    yield () => decide({ dcApi: value });
    yield () => decide({ to: value, body: 'x' });
    yield () => decide({ to: session.id, body: value, contentType: FORM });
    yield () => decide({ to: session.id, body: 'x', contentType: value });
    yield () => session.result(value);
    yield () => session.result({ responseCode: value });
    yield () => VERIFIER.requestObject(session, { to: value });
    yield () => VERIFIER.requestObject(session, { to: session.id, walletNonce: value });
    yield () => idgate.Session.restore(value);
    yield () => idgate.Session.restore(session.snapshot(), value || {});
  }
  yield () => decide({ to: session.id, body: 'x', contentType: FORM }, ended);
  yield () => decide({ to: 'off_1', body: 'vp_token=x', contentType: FORM });
  yield () => VERIFIER.dcApiRequests(ended);
}

function* others() {
  const expected = { format: 'dc+sd-jwt', issuerId: ISSUER, clientId: 'c', nonce: 'n' };
  const mdoc = { ...expected, format: 'mso_mdoc', docType: 'd', namespace: 'n', responseUri: 'u' };
  const draft = { profile: 'draft' };
  const fields = ['format', 'issuerId', 'clientId', 'nonce', 'claims', 'alg', 'mode', 'sentAt', 'claimPaths'];
  const webhook = new idgate.Webhook('secret-of-16-chars');
  for (const value of VALUES) {
    for (const field of fields) yield () => TRUST.verifySync('x', { ...expected, [field]: value });
    for (const field of [...fields, 'docType', 'namespace', 'responseUri', 'origin', 'profile', 'encKey', 'apu']) {
      yield () => TRUST.verifySync('x', { ...mdoc, [field]: value });
      yield () => TRUST.verifySync('x', { ...mdoc, ...draft, [field]: value });
    }
    yield () => TRUST.verifySync(value, expected);
    yield () => new idgate.Webhook(value);
    yield () => webhook.verify({ 'x-timestamp': value, 'x-signature': value }, 'x');
    yield () => webhook.verify({ 'webhook-signature': value, 'webhook-id': value, 'webhook-timestamp': value }, 'x');
    yield () => webhook.headers('x', { id: value, number: value });
    yield () => KEY.certified(value);
    yield () => KEY.checkRegistration(value);
    yield () => idgate.Signer.external(BASE, value, () => {});
    yield () => idgate.didDocument(BASE, [value]);
    yield () => idgate.jwks(BASE, value);
    yield () => new idgate.Fetcher({ allow: [value] });
    yield () => new idgate.Fetcher({ roots: value });
    yield () => new idgate.Signer(BASE, value);
  }
  yield () => TRUST.verifySync('x', { ...expected, issuerId: 'another' });
}

/** The errors of all these calls. */
function thrown() {
  const errors = [];
  for (const work of [...requests(), ...issuers(), ...verifiers(), ...answers(), ...others()]) {
    try {
      work();
    } catch (problem) {
      errors.push(problem);
    }
  }
  return errors;
}

test('no message mentions C, a command line, a gateway, or a field in the wire’s spelling', () => {
  const errors = thrown();
  assert.ok(errors.length > 1000, `${errors.length}`);
  const texts = new Set(
    errors.flatMap(({ message, path, rule, check, hint, field }) => [message, path, rule, check, hint, field]),
  );
  texts.delete(undefined);
  assert.ok(texts.size > 200, `${texts.size}`);
  const wrong = [...texts].filter((text) => {
    return text !== null && (FOREIGN.test(text) || text.split(/\W+/).some((word) => OF_THE_WIRE.has(word)));
  });
  assert.deepEqual(wrong, []);
});

test('every error is one of this package, a TypeError or a RangeError, and has its details', () => {
  const kinds = new Map();
  for (const problem of thrown()) {
    const kind = problem.constructor.name;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const isOurs = problem instanceof idgate.IdgateError;
    assert.ok(isOurs || problem.constructor === TypeError || problem.constructor === RangeError, problem.stack);
    if (!isOurs) continue;
    assert.match(problem.code, /^[a-z_0-9]+$/);
    if (problem instanceof idgate.RequestInvalid) assert.ok(problem.rule && problem.message.endsWith(problem.rule));
    if (problem instanceof idgate.Refused)
      assert.ok(problem.reason && problem.check && problem.clause, problem.message);
    if (problem instanceof idgate.NotAnAnswer) assert.ok(problem.httpStatus >= 400);
    if (problem instanceof idgate.Withheld) assert.ok(problem.reason);
  }
  for (const kind of ['RequestInvalid', 'Misconfigured', 'Refused', 'NotAnAnswer', 'Withheld', 'TypeError']) {
    assert.ok(kinds.get(kind) >= 5, `${kind}: ${kinds.get(kind)}`);
  }
  assert.equal(kinds.get('InternalError'), undefined);
});
