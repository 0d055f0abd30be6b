'use strict';
// Results of verifications in JavaScript's spelling. Claims keep the names of their issuers.

const { TRANSACTION_DATA } = require('./request.js');
const { Fields, each } = require('./spelling.js');

const TIME = { fromWire: (text) => (text === null ? null : new Date(text)) };

const PROVIDER = new Fields({
  name: 'name',
  identifier: 'identifier',
  country: 'country',
  candidates: 'candidates',
  listType: 'list_type',
  listSequence: 'list_sequence',
});

/** A credential that passed every check. */
const FACTS = new Fields({
  id: 'id',
  format: 'format',
  issuerId: 'issuer_id',
  credentialType: 'credential_type',
  issuer: 'issuer',
  alg: 'alg',
  holderBinding: 'holder_binding',
  trust: 'trust',
  trustAnchorSha256: 'trust_anchor_sha256',
  provider: ['provider', PROVIDER],
  sessionTranscript: 'session_transcript',
  validFrom: ['valid_from', TIME],
  validUntil: ['valid_until', TIME],
  revocation: 'revocation',
  revocationDetails: 'revocation_details',
  decidedBy: 'decided_by',
  issuingCountryUnbound: 'issuing_country_unbound',
  tolerated: 'tolerated',
  transactionData: ['transaction_data', each(TRANSACTION_DATA)],
});

const DETAILS = new Fields({
  requestMode: 'request_mode',
  origin: 'origin',
  profile: 'profile',
  verifiedAt: ['verified_at', TIME],
  responseCode: 'response_code',
  credentials: ['credentials', each(FACTS)],
  sameSubject: 'same_subject',
});

/** The result of a VERIFIED session. */
class Result {
  constructor(told) {
    this.claims = told.claims;
    this.verificationDetails = DETAILS.fromWire(told.verification_details);
    Object.freeze(this);
  }

  /** The claims of one credential, by its id in the request. */
  credential(id) {
    if (!Object.hasOwn(this.claims, id)) {
      throw new RangeError(`the result has no credential "${id}"; it has ${Object.keys(this.claims).join(', ')}`);
    }
    return this.claims[id];
  }
}

module.exports = { FACTS, Result };
