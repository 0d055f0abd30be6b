'use strict';
// The two spellings of a request: an object in JavaScript's, and the JSON on the wire.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { RequestInvalid, Signer, Trust, Verifier } = require('idgate');
const { REQUEST } = require('../src/request.js');
const cases = require('./cases.js');

const ISSUER = 'https://issuer.example';
const DMV = 'https://dmv.example';
const AGE = 'eu.europa.ec.av.1';
const DESCRIPTION = path.join(__dirname, '..', '..', '..', 'idgate-server', 'openapi.yaml');
const PAGES = { origins: ['https://shop.example'] };
const { now_ms: NOW_MS, key: KEY } = cases.certified();
const LIVE = { mode: 'live', now: new Date(NOW_MS) };

function verifier() {
  const [{ roots }] = cases.load().find((one) => one.trust[0].roots).trust;
  const jwk = new Signer(cases.BASE_URL, cases.decode(KEY)).publicKey();
  const trust = new Trust([
    { id: ISSUER, vcts: ['urn:eudi:pid:1'], jwk, defaultClaims: ['given_name'] },
    { id: DMV, iacaRoots: roots.map(cases.decode), docTypes: ['org.iso.18013.5.1.mDL', 'org.iso.23220.1', AGE] },
  ]);
  return new Verifier(cases.BASE_URL, trust, { profiles: ['1.0', 'draft'], dcApi: 'unsigned' });
}

const own = { id: 'a', format: 'dc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] };
const wire = { id: 'a', format: 'dc+sd-jwt', issuer_id: ISSUER, claims: ['given_name'] };
const mdl = { id: 'm', format: 'mso_mdoc', issuerId: DMV, claims: ['sex'], docType: 'org.iso.18013.5.1.mDL' };
const wireMdl = { id: 'm', format: 'mso_mdoc', issuer_id: DMV, claims: ['sex'], doc_type: 'org.iso.18013.5.1.mDL' };
const proof = { preset: 'eu_age', issuerId: DMV, age: 18 };
const wireProof = { preset: 'eu_age', issuer_id: DMV, age: 18 };
const two = [own, { ...own, id: 'b', claims: ['family_name'] }];
const wireTwo = [wire, { ...wire, id: 'b', claims: ['family_name'] }];
const credential = (more) => ({ credentials: [{ ...own, ...more }] });
const wireCredential = (more) => ({ credentials: [{ ...wire, ...more }] });
const asked = (more) => ({ credentials: [own], ...more });
const askedOnWire = (more) => ({ credentials: [wire], ...more });
const agreed = { type: 'pay', amount_due: 1, amountDue: { oneOf: [1], issuerId: 'x' } };

/** For each path in the table, a request with the field in both spellings. */
const ROWS = {
  issuerId: [{ issuerId: ISSUER }, { issuer_id: ISSUER }],
  format: [
    { issuerId: ISSUER, format: 'vc+sd-jwt' },
    { issuer_id: ISSUER, format: 'vc+sd-jwt' },
  ],
  credentials: [{ credentials: two }, { credentials: wireTwo }],
  'credentials.preset': [{ credentials: [proof] }, { credentials: [wireProof] }],
  'credentials.age': [{ credentials: [{ ...proof, age: 21 }] }, { credentials: [{ ...wireProof, age: 21 }] }],
  'credentials.id': [credential({ id: 'x' }), wireCredential({ id: 'x' })],
  'credentials.format': [{ credentials: [mdl] }, { credentials: [wireMdl] }],
  'credentials.issuerId': [{ credentials: [mdl] }, { credentials: [wireMdl] }],
  'credentials.docType': [
    { credentials: [{ ...mdl, docType: 'org.iso.23220.1', namespace: 'n' }] },
    { credentials: [{ ...wireMdl, doc_type: 'org.iso.23220.1', namespace: 'n' }] },
  ],
  'credentials.namespace': [
    { credentials: [{ ...mdl, namespace: 'org.iso.18013.5.1.aamva' }] },
    { credentials: [{ ...wireMdl, namespace: 'org.iso.18013.5.1.aamva' }] },
  ],
  'credentials.claims': [credential({ claims: ['a', 'issuerId'] }), wireCredential({ claims: ['a', 'issuerId'] })],
  'credentials.claimPaths': [
    credential({ claims: ['issuer_id'], claimPaths: { issuer_id: ['docType', null] } }),
    wireCredential({ claims: ['issuer_id'], claim_paths: { issuer_id: ['docType', null] } }),
  ],
  'credentials.claimFilters': [
    credential({ claimFilters: { given_name: { minLength: 1 } } }),
    wireCredential({ claim_filters: { given_name: { minLength: 1 } } }),
  ],
  'credentials.subjectClaimPaths': [
    { credentials: two.map((one) => ({ ...one, subjectClaimPaths: ['given_name'] })), sameSubjectGroups: [['a', 'b']] },
    {
      credentials: wireTwo.map((one) => ({ ...one, subject_claim_paths: ['given_name'] })),
      same_subject_groups: [['a', 'b']],
    },
  ],
  'credentials.alg': [credential({ alg: 'ES256' }), wireCredential({ alg: 'ES256' })],
  credentialSets: [
    { credentials: two, credentialSets: [{ options: [['a'], ['b']] }] },
    { credentials: wireTwo, credential_sets: [{ options: [['a'], ['b']] }] },
  ],
  'credentialSets.options': [
    { credentials: two, credentialSets: [{ options: [['b'], ['a']] }] },
    { credentials: wireTwo, credential_sets: [{ options: [['b'], ['a']] }] },
  ],
  'credentialSets.required': [
    { credentials: two, credentialSets: [{ options: [['a']] }, { options: [['b']], required: false }] },
    { credentials: wireTwo, credential_sets: [{ options: [['a']] }, { options: [['b']], required: false }] },
  ],
  distinctCredentials: [
    { credentials: two, distinctCredentials: true },
    { credentials: wireTwo, distinct_credentials: true },
  ],
  onUnknownRevocation: [asked({ onUnknownRevocation: 'refuse' }), askedOnWire({ on_unknown_revocation: 'refuse' })],
  sameSubjectGroups: [
    { credentials: two, sameSubjectGroups: [['a', 'b']] },
    { credentials: wireTwo, same_subject_groups: [['a', 'b']] },
  ],
  profile: [asked({ profile: 'draft' }), askedOnWire({ profile: 'draft' })],
  profiles: [asked({ profiles: ['draft', '1.0'] }), askedOnWire({ profiles: ['draft', '1.0'] })],
  redirectUri: [
    asked({ redirectUri: 'https://shop.example/b' }),
    askedOnWire({ redirect_uri: 'https://shop.example/b' }),
  ],
  sameDevice: [
    asked({ redirectUri: 'https://shop.example/b', sameDevice: true }),
    askedOnWire({ redirect_uri: 'https://shop.example/b', same_device: true }),
  ],
  ttlMs: [asked({ ttlMs: 60_000 }), askedOnWire({ ttl_ms: 60_000 })],
  transactionData: [
    asked({ transactionData: [{ ...agreed, credentialIds: ['a'] }] }),
    askedOnWire({ transaction_data: [{ ...agreed, credential_ids: ['a'] }] }),
  ],
  'transactionData.type': [
    asked({ transactionData: [{ type: 'sign', credentialIds: ['a'] }] }),
    askedOnWire({ transaction_data: [{ type: 'sign', credential_ids: ['a'] }] }),
  ],
  'transactionData.credentialIds': [
    { credentials: two, transactionData: [{ type: 'sign', credentialIds: ['a', 'b'] }] },
    { credentials: wireTwo, transaction_data: [{ type: 'sign', credential_ids: ['a', 'b'] }] },
  ],
  'transactionData.transactionDataHashesAlg': [
    asked({ transactionData: [{ type: 'sign', credentialIds: ['a'], transactionDataHashesAlg: ['sha-384'] }] }),
    askedOnWire({
      transaction_data: [{ type: 'sign', credential_ids: ['a'], transaction_data_hashes_alg: ['sha-384'] }],
    }),
  ],
  dcApi: [asked({ dcApi: PAGES }), askedOnWire({ dc_api: PAGES })],
  'dcApi.origins': [
    asked({ dcApi: { origins: ['https://other.example'] } }),
    askedOnWire({ dc_api: { origins: ['https://other.example'] } }),
  ],
  'dcApi.isoMdoc': [
    { credentials: [mdl], dcApi: { ...PAGES, isoMdoc: false } },
    { credentials: [wireMdl], dc_api: { ...PAGES, iso_mdoc: false } },
  ],
};

/** The table, path by path, with the path in JSON. */
function table(fields = REQUEST, [ownPath, wirePath] = ['', '']) {
  return fields.entries().flatMap(([name, wireName, inner]) => {
    const here = [ownPath + name, wirePath + wireName];
    return [
      here,
      ...(inner
        ? table(
            inner,
            here.map((one) => `${one}.`),
          )
        : []),
    ];
  });
}

/** The part of its request that a session keeps. */
function kept(using, request) {
  const { session } = using.createSession(request, LIVE);
  const { request: stored, offers } = JSON.parse(Buffer.from(session.snapshot()));
  return { stored, offers: offers.map(({ profile, browser }) => ({ profile, browser })) };
}

test('there is a row for each field of the table', () => {
  assert.deepEqual(
    Object.keys(ROWS).sort(),
    table()
      .map(([name]) => name)
      .sort(),
  );
});

for (const [field, [object, json]] of Object.entries(ROWS)) {
  test(`an object and wire JSON make the same session: ${field}`, () => {
    const using = verifier();
    const expected = kept(using, JSON.stringify(json));
    assert.deepEqual(kept(using, object), expected);
    assert.deepEqual(kept(using, Buffer.from(JSON.stringify(json))), expected);
    assert.notDeepEqual(expected, kept(using, field.startsWith('credentials.') ? { credentials: two } : asked({})));
  });

  test(`an error names the field as it was written: ${field}`, () => {
    const using = verifier();
    const [, wirePath] = table().find(([name]) => name === field);
    const broken = [object, json].map((request, at) =>
      refusal(using, breaking(request, [field, wirePath][at].split('.')), at),
    );
    const [told, toldOfJson] = broken;
    assert.equal(told.code, toldOfJson.code);
    assert.equal(REQUEST.path(toldOfJson.path), told.path);
    assert.equal(REQUEST.text(toldOfJson.rule), told.rule);
    const names = (one) => one.replace(/\[\d+\]/g, '');
    assert.ok(
      [field, field.replace(/\..*/, '')].some((name) => names(told.path).startsWith(name)),
      told.path,
    );
    const words = told.message.split(/\W+/);
    for (const [name, ownName] of REQUEST.names()) assert.ok(name === ownName || !words.includes(name), told.message);
  });
}

/** The request with a value of a wrong type at that path. */
function breaking(request, [name, ...rest]) {
  const copy = structuredClone(request);
  if (rest.length === 0) copy[name] = { wrong: true };
  else if (Array.isArray(copy[name])) copy[name] = copy[name].map((one) => breaking(one, rest));
  else copy[name] = breaking(copy[name], rest);
  return copy;
}

function refusal(using, request, isWire) {
  try {
    using.createSession(isWire ? JSON.stringify(request) : request, LIVE);
  } catch (problem) {
    assert.ok(problem instanceof RequestInvalid, problem);
    return problem;
  }
  throw new Error(`taken: ${JSON.stringify(request)}`);
}

test('a name in the other spelling is not a field', () => {
  const using = verifier();
  for (const [object, at, rule] of [
    [{ issuer_id: ISSUER }, 'issuer_id', /write issuerId$/],
    [{ credentials: [own], dc_api: PAGES }, 'dc_api', /write dcApi$/],
    [credential({ issuer_id: ISSUER }), 'credentials[0].issuer_id', /write issuerId$/],
    [credential({ vct: 'x' }), 'credentials[0].vct', /remove it$/],
    [{ credential: [] }, 'credential', /remove it$/],
    [asked({ dcApi: { ...PAGES, iso_mdoc: true } }), 'dcApi.iso_mdoc', /write isoMdoc$/],
    [
      asked({ transactionData: [{ type: 't', credential_ids: ['a'] }] }),
      'transactionData[0].credential_ids',
      /credentialIds$/,
    ],
  ]) {
    const refused = { name: 'RequestInvalid', code: 'unknown_field', path: at, rule };
    assert.throws(() => using.createSession(object, LIVE), refused);
  }
  const unknown = { name: 'RequestInvalid', code: 'unknown_field', path: 'credentials[0].issuerId' };
  assert.throws(() => using.createSession(JSON.stringify(asked({})), LIVE), unknown);
});

test('undefined is left out, and a request of a wrong type is a TypeError', () => {
  const using = verifier();
  const given = asked({ redirectUri: undefined, credentials: [{ ...own, alg: undefined }] });
  assert.deepEqual(kept(using, given), kept(using, asked({})));
  for (const wrong of [undefined, null, 1, true, [], [own], () => {}]) {
    assert.throws(() => using.createSession(wrong, LIVE), TypeError);
  }
  for (const text of ['', 'x', '{', '[]', '{"credentials": []} x']) {
    assert.throws(() => using.createSession(text, LIVE), { name: 'RequestInvalid' });
  }
});

test('a value that JSON does not have is refused everywhere, and no condition is lost', () => {
  const using = verifier();
  const shared = { given_name: { const: 'Erika' } };
  class Filters {
    given_name = { const: 'Erika' };
  }
  const cyclic = {};
  cyclic.given_name = cyclic;
  const values = [
    [undefined, /^credentials\[0\]\.claimFilters\.given_name is undefined/],
    [() => ({ const: 1 }), /\.given_name is a function/],
    [Symbol('const'), /\.given_name is a symbol/],
    [1n, /\.given_name is a bigint/],
    [NaN, /\.given_name is infinite or NaN/],
    [{ minimum: -Infinity }, /\.given_name\.minimum is infinite or NaN/],
    [{ const: undefined }, /\.given_name\.const is undefined/],
    [{ enum: ['Erika', undefined] }, /\.given_name\.enum\[1\] is undefined/],
    [{ enum: Array(1) }, /\.given_name\.enum\[0\] is undefined/],
    [{ enum: Object.assign(['Erika'], { more: 1 }) }, /\.given_name\.enum is an array with members other than/],
    [{ pattern: /^E/ }, /\.given_name\.pattern is of the class RegExp/],
    [{ const: new Date() }, /\.given_name\.const is of the class Date/],
    [{ const: new String('Erika') }, /\.given_name\.const is of the class String/],
    [{ enum: new Set(['Erika']) }, /\.given_name\.enum is of the class Set/],
    [{ enum: new Uint8Array(1) }, /\.given_name\.enum is of the class Uint8Array/],
    [{ const: 'Erika', toJSON: () => ({}) }, /\.given_name\.toJSON is a function/],
    [{ [Symbol('const')]: 'Erika' }, /\.given_name has a member/],
    [Object.defineProperty({}, 'const', { value: 'Erika' }), /\.given_name has a member/],
    [{ const: '\ud800' }, /\.given_name\.const has a lone surrogate/],
    [{ '\udc00': 1 }, /^a name in credentials\[0\]\.claimFilters\.given_name has a lone surrogate/],
    [cyclic, /is nested more than 128 times$/],
  ].map(([value, message]) => [credential({ claimFilters: { given_name: value } }), message]);
  const whole = [
    new Map(Object.entries(shared)),
    Object.create(shared),
    new Filters(),
    Object.create(Object.create(null, { given_name: { value: {}, enumerable: true } })),
  ];
  const agreement = (more) => asked({ transactionData: [{ type: 't', credentialIds: ['a'], ...more }] });
  for (const [request, message] of [
    ...values,
    ...whole.map((claimFilters) => [credential({ claimFilters }), /^credentials\[0\]\.claimFilters is /]),
    [credential({ claimPaths: { given_name: ['a', undefined] } }), /claimPaths\.given_name\[1\] is undefined/],
    [credential({ claimPaths: { 'a b': ['a', , 'b'] } }), /claimPaths\["a b"\]\[1\] is undefined/],
    [credential({ claims: undefined }), /^credentials\[0\]\.claims is undefined/],
    [credential({ issuerId: '\ud800' }), /^credentials\[0\]\.issuerId has a lone surrogate/],
    [{ issuerId: ISSUER, credentials: undefined }, /^credentials is undefined/],
    [{ credentials: [, own] }, /^credentials\[0\] is undefined/],
    [{ credentials: new Set([own]) }, /^credentials is of the class Set/],
    [asked({ sameSubjectGroups: new Set([['a']]) }), /^sameSubjectGroups is of the class Set/],
    [asked({ dcApi: { origins: undefined } }), /^dcApi\.origins is undefined/],
    [agreement({ amount: undefined }), /^transactionData\[0\]\.amount is undefined/],
    [
      agreement({ transactionDataHashesAlg: undefined }),
      /^transactionData\[0\]\.transactionDataHashesAlg is undefined/,
    ],
    [agreement({ payee: { name: () => 'x' } }), /^transactionData\[0\]\.payee\.name is a function/],
    [Object.create(asked({})), /^the request is an object of a class/],
  ]) {
    assert.throws(() => using.createSession(request, LIVE), { name: 'TypeError', message });
    assert.throws(() => using.compareRegistration('a.b.c', request, LIVE), { name: 'TypeError', message });
  }
  const foreign = require('node:vm').runInNewContext(`(${JSON.stringify(credential({ claimFilters: shared }))})`);
  assert.deepEqual(kept(using, foreign), kept(using, credential({ claimFilters: shared })));
});

test('paths of an issuer and of an expectation are plain JSON', () => {
  for (const claimPaths of [new Map([['given_name', ['a']]]), { given_name: ['a', , 'b'] }]) {
    assert.throws(() => new Trust([{ id: ISSUER, claimPaths }]), TypeError);
    const expected = { format: 'dc+sd-jwt', issuerId: ISSUER, clientId: 'c', nonce: 'n', claimPaths };
    assert.throws(() => new Trust([]).verifySync('x', expected), TypeError);
  }
});

/** The names of the members of a schema of the interface description. */
function members(description, schema) {
  const [, body] = new RegExp(`\n    ${schema}:\n((?:      .*\n|\n)+)`).exec(description);
  const [, properties] = /\n {6}properties:\n((?: {8}.*\n|\n)+)/.exec(`\n${body}`);
  return [...properties.matchAll(/^ {8}(\w+):/gm)].map(([, name]) => name);
}

/** Fields that the library does not have: for a gateway's page, and for a gateway's registration certificates. */
const OF_GATEWAYS = ['retry_uri', 'purpose', 'handover', 'intended_use'];

test('the table has every member of the interface description, and no other', () => {
  const description = fs.readFileSync(DESCRIPTION, 'utf8');
  const forms = ['CreateSessionByIssuer', 'CreateSessionByCredential'].flatMap((form) => members(description, form));
  const inner = { credentials: 'CredentialRequest', dc_api: 'DcApiPages', transaction_data: 'TransactionData' };
  const expected = new Set(forms.filter((member) => !OF_GATEWAYS.includes(member)));
  for (const [name, schema] of Object.entries(inner)) {
    for (const member of members(description, schema)) expected.add(`${name}.${member}`);
  }
  for (const member of members(description, 'AgePreset')) expected.add(`credentials.${member}`);
  for (const member of ['options', 'required']) expected.add(`credential_sets.${member}`);
  assert.ok(expected.size > 25);
  assert.deepEqual(
    table()
      .map(([, wireName]) => wireName)
      .sort(),
    [...expected].sort(),
  );
});
