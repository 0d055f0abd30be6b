'use strict';
// Expectations of a presentation, and the request that it answers.

const abi = require('./abi.js');
const { isRecord, write } = require('./json.js');
const { is, options } = require('./options.js');

const isPath = (path) =>
  Array.isArray(path) && is.text.fits(path[0]) && path.every((step) => step === null || is.text.fits(step));
const paths = {
  name: 'an object of paths, for example { city: ["address", "locality"] }',
  fits: (value) => isRecord(value) && Object.values(value).every(isPath),
};
const jwk = {
  name: 'a JWK with kty, crv, x and y',
  fits: (value) => isRecord(value) && ['kty', 'crv', 'x', 'y'].every((member) => is.text.fits(value[member])),
};

const COMMON = {
  format: is.oneOf('dc+sd-jwt', 'vc+sd-jwt', 'mso_mdoc'),
  issuerId: is.text,
  clientId: is.text,
  nonce: is.text,
  claims: is.texts,
  alg: is.oneOf('ES256', 'ES384', 'ES512'),
  mode: is.oneOf('live', 'test'),
};
const SD_JWT_VC = { ...COMMON, sentAt: is.date, claimPaths: paths };
const MDOC = {
  ...COMMON,
  profile: is.oneOf('draft', '1.0', 'haip'),
  docType: is.text,
  namespace: is.text,
  responseUri: is.text,
  origin: is.text,
  encKey: jwk,
  apu: is.text,
};
const NEEDED = ['format', 'issuerId', 'clientId', 'nonce'];
const NEEDED_OF_MDOC = ['docType', 'namespace'];

/** The numbers of `idgate_format`, `idgate_profile` and `idgate_mode`. */
const FORMATS = { 'dc+sd-jwt': 1, 'vc+sd-jwt': 1, mso_mdoc: 2 };
const PROFILES = { draft: 1, '1.0': 2, haip: 3 };
const MODES = { live: 1, test: 2 };

/** An expectation in the library's form; `what` names the call. */
function read(what, given, checks) {
  const isMdoc = given?.format === 'mso_mdoc';
  const expected = options(what, isMdoc ? MDOC : SD_JWT_VC, given);
  const needed = isMdoc ? [...NEEDED, ...NEEDED_OF_MDOC] : NEEDED;
  for (const name of needed) {
    if (!(name in expected)) throw new TypeError(`${what}: ${name} is missing`);
  }
  if (isMdoc && 'responseUri' in expected === 'origin' in expected) {
    throw new TypeError(`${what}: exactly one of responseUri and origin is needed`);
  }
  const { claims = [], claimPaths, encKey } = expected;
  return abi.sized('expected', {
    format: FORMATS[expected.format],
    profile: PROFILES[expected.profile] ?? 0,
    issuer_id: abi.str(expected.issuerId),
    client_id: abi.str(expected.clientId),
    nonce: abi.str(expected.nonce),
    sent_at_ms: expected.sentAt ? abi.millis(expected.sentAt) : 0,
    claims: claims.length > 0 ? claims.map(abi.str) : null,
    claims_len: claims.length,
    claim_paths: abi.str(claimPaths && write(claimPaths, `${what}: claimPaths`)),
    mode: MODES[expected.mode] ?? 0,
    checks: checks ? 1 : 0,
    alg: abi.str(expected.alg),
    doc_type: abi.str(expected.docType),
    name_space: abi.str(expected.namespace),
    response_uri: abi.str(expected.responseUri),
    origin: abi.str(expected.origin),
    enc_key: abi.str(encKey && write(encKey, `${what}: encKey`)),
    apu: abi.str(expected.apu),
  });
}

module.exports = { MODES, PROFILES, read };
