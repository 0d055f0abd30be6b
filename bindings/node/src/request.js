'use strict';
// Requests for credentials: objects, or the JSON that a tenant sent.

const { RequestInvalid } = require('./errors.js');
const { Fields, each } = require('./spelling.js');

const TRANSACTION_DATA = new Fields(
  {
    type: 'type',
    credentialIds: 'credential_ids',
    transactionDataHashesAlg: 'transaction_data_hashes_alg',
  },
  { isOpen: true },
);

const CREDENTIAL = new Fields(
  {
    id: 'id',
    preset: 'preset',
    age: 'age',
    format: 'format',
    issuerId: 'issuer_id',
    docType: 'doc_type',
    namespace: 'namespace',
    claims: 'claims',
    claimPaths: 'claim_paths',
    claimFilters: 'claim_filters',
    subjectClaimPaths: 'subject_claim_paths',
    alg: 'alg',
  },
  { needed: ['format', 'issuerId', 'claims'] },
);

const SET = new Fields({ options: 'options', required: 'required' }, { needed: ['options'] });

const PAGES = new Fields({ origins: 'origins', isoMdoc: 'iso_mdoc' }, { needed: ['origins'] });

/** Both forms of `CreateSessionRequest` in the interface description. */
const REQUEST = new Fields(
  {
    issuerId: 'issuer_id',
    format: 'format',
    credentials: ['credentials', each(CREDENTIAL)],
    credentialSets: ['credential_sets', each(SET)],
    distinctCredentials: 'distinct_credentials',
    onUnknownRevocation: 'on_unknown_revocation',
    sameSubjectGroups: 'same_subject_groups',
    profile: 'profile',
    profiles: 'profiles',
    redirectUri: 'redirect_uri',
    sameDevice: 'same_device',
    ttlMs: 'ttl_ms',
    transactionData: ['transaction_data', each(TRANSACTION_DATA)],
    dcApi: ['dc_api', PAGES],
  },
  { needed: ['issuerId', 'credentials'] },
);

const isWire = (request) => typeof request === 'string' || ArrayBuffer.isView(request);

/** The result of `work` for the request's JSON. Errors name its fields as the caller wrote them. */
function withRequest(what, request, work) {
  if (isWire(request)) return work(request);
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw new TypeError(`${what}: the request is not an object, and not JSON as text or bytes`);
  }
  const json = JSON.stringify(REQUEST.toWire(request));
  try {
    return work(json);
  } catch (problem) {
    if (!(problem instanceof RequestInvalid)) throw problem;
    const { code, path, rule, hint } = problem;
    throw new RequestInvalid({ code, path: REQUEST.path(path), rule: REQUEST.text(rule), hint });
  }
}

module.exports = { REQUEST, TRANSACTION_DATA, withRequest };
