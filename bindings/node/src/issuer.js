'use strict';
// One issuer: its fields, and the library's form of each.

const { Misconfigured } = require('./errors.js');
const { isRecord } = require('./json.js');
const { is, isPlain, options } = require('./options.js');
const { Fields } = require('./spelling.js');

const isStep = (step) => step === null || is.text.fits(step);
const key = {
  name: 'a JWK or a JWK Set, as an object, text or bytes',
  fits: (value) => is.data.fits(value) || isPlain(value),
};
const list = { name: 'bytes, or an object with `file`', fits: (value) => is.data.fits(value) || isPlain(value) };
const paths = {
  name: 'an object of paths, for example { city: ["address", "locality"] }',
  fits: (value) => isRecord(value) && Object.values(value).every((path) => Array.isArray(path) && path.every(isStep)),
};

/** Fields without material: the type of each, and its name in JSON. */
const STATEMENTS = {
  id: [is.text, 'issuer_id'],
  iss: [is.text, 'iss'],
  anyIss: [is.flag, 'any_iss'],
  vcts: [is.texts, 'vct'],
  docTypes: [is.texts, 'doc_types'],
  namespaces: [is.texts, 'namespaces'],
  claimPaths: [paths, 'claim_paths'],
  defaultClaims: [is.texts, 'default_claims'],
  countries: [is.texts, 'countries'],
  mdocEkus: [is.texts, 'mdoc_ekus'],
  x5cEkus: [is.texts, 'x5c_ekus'],
  revocation: [is.oneOf('if_published', 'required', 'off'), 'revocation'],
  onUnknownRevocation: [is.oneOf('refuse', 'accept', 'tenant'), 'on_unknown_revocation'],
  statusMaxAgeDays: [is.number, 'status_max_age_days'],
  namedInQueries: [is.flag, 'named_in_queries'],
  trustedListUrls: [is.texts, 'trusted_list_urls'],
  deviceResponseDocuments: [is.oneOf('one', 'any'), 'device_response_documents'],
  issuingCountryUnbound: [is.flag, 'issuing_country_unbound'],
};
const SPELLING = new Fields({
  ...Object.fromEntries(Object.entries(STATEMENTS).map(([name, [, wire]]) => [name, wire])),
  // Errors also name these fields of lists.
  signedBelow: 'signer_ca',
  allowStale: 'allow_stale',
});

/** Material: its type, and its number as an `idgate_material`. CRLs come last: they are verified with the roots. */
const MATERIAL = {
  jwk: [key, 1],
  publicKeyPem: [is.data, 2],
  iacaRoots: [is.data, 3],
  mdocSigners: [is.data, 4],
  x5cRoots: [is.data, 9],
  x5cSigners: [is.data, 10],
  statusRoots: [is.data, 8],
  masterList: [list, 5],
  vical: [list, 6],
  trustedList: [list, 11],
  crls: [is.data, 7],
};

const LIST = { file: is.data, signedBelow: is.data, allowStale: is.flag, now: is.date };

const KNOWN = {
  ...Object.fromEntries(Object.entries(STATEMENTS).map(([name, [type]]) => [name, type])),
  testOnly: is.flag,
  ...Object.fromEntries(Object.entries(MATERIAL).map(([name, [type]]) => [name, is.some(type)])),
};
const MAX_AGE_DAYS = 3650;

/** The issuer at `index` in the library's form: its fields, and its material in order. */
function read(issuer, index) {
  const what = `issuers[${index}]`;
  const id = isPlain(issuer) && is.text.fits(issuer.id) ? issuer.id : null;
  const wrong = (field, why) => new Misconfigured({ issuer: id, field, why });
  const given = options(what, KNOWN, issuer, wrong);
  if (id === null) throw new TypeError(`${what}: id is not text`);
  const { statusMaxAgeDays: days = 1 } = given;
  if (!Number.isSafeInteger(days) || days < 1 || days > MAX_AGE_DAYS) {
    throw wrong('statusMaxAgeDays', `is not a whole number from 1 to ${MAX_AGE_DAYS}`);
  }
  const empty = Object.entries(given.claimPaths ?? {}).find(([, path]) => !is.text.fits(path[0]));
  if (empty) throw wrong(`claimPaths.${empty[0]}`, 'must begin with a member name');
  const statements = Object.fromEntries(Object.keys(STATEMENTS).map((name) => [name, given[name]]));
  return {
    id,
    json: JSON.stringify(SPELLING.toWire(statements, what)),
    material: materialOf(given, what),
    testOnly: given.testOnly ?? false,
  };
}

/** Every file of an issuer, with its field and index. */
function materialOf(given, what) {
  return Object.entries(MATERIAL).flatMap(([name, [type, kind]]) => {
    if (!(name in given)) return [];
    const several = Array.isArray(given[name]);
    return [given[name]].flat().map((one, at) => {
      const field = several ? `${name}[${at}]` : name;
      const file =
        type === list ? listed(one, `${what}: ${field}`) : { file: is.data.fits(one) ? one : JSON.stringify(one) };
      return { name, field, kind, isList: type === list, ...file };
    });
  });
}

function listed(given, what) {
  if (is.data.fits(given)) return { file: given };
  const taken = options(what, LIST, given);
  if (!taken.file) throw new TypeError(`${what}: file is missing`);
  return taken;
}

module.exports = { SPELLING, read };
