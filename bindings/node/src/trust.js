'use strict';

const abi = require('./abi.js');
const { options } = require('./options.js');

const MATERIAL = {
  jwk: 1,
  publicKey: 2,
  root: 3,
  pinnedSigner: 4,
  masterList: 5,
  vical: 6,
  crl: 7,
  statusRoot: 8,
  sdJwtRoot: 9,
  sdJwtSigner: 10,
  trustedList: 11,
};
const ISSUER_OPTIONS = [
  'iss',
  'vct',
  'docTypes',
  'namespaces',
  'claims',
  'countries',
  'ekus',
  'sdJwtEkus',
  'revocation',
  'statusMaxAgeDays',
  'issuingCountryUnbound',
  'claimPaths',
  'aki',
  'deviceResponseDocuments',
];
const MATERIAL_OPTIONS = ['testOnly', 'now'];
const LIST_OPTIONS = ['signerCa', 'testOnly', 'allowStale', 'now'];
const EXPECTED = [
  'format',
  'issuerId',
  'clientId',
  'nonce',
  'claims',
  'responseUri',
  'docType',
  'namespace',
  'encKey',
  'apu',
  'alg',
  'livemode',
  'checks',
  'requestedAt',
  'now',
];
const TEST_ONLY = 1;
const ALLOW_STALE = 2;

/** A collection of trust entries; an empty one trusts nobody. */
class Trust extends abi.Handle {
  constructor() {
    super('trust_free', abi.make('trust_new'));
  }

  addIssuer(issuerId, given) {
    const more = options('addIssuer', ISSUER_OPTIONS, given);
    const entry = {
      issuer_id: issuerId,
      iss: more.iss,
      vct: more.vct,
      doc_types: more.docTypes,
      namespaces: more.namespaces,
      claims: more.claims,
      countries: more.countries,
      ekus: more.ekus,
      sd_jwt_ekus: more.sdJwtEkus,
      revocation: more.revocation,
      status_max_age_days: more.statusMaxAgeDays,
      issuing_country_unbound: more.issuingCountryUnbound,
      claim_paths: more.claimPaths,
      aki: more.aki,
      device_response_documents: more.deviceResponseDocuments,
    };
    abi.call('trust_add_entry', abi.pointer(this), ...abi.data(abi.asJson(entry)));
  }

  addJwk(issuerId, jwk, given) {
    this.#add(issuerId, MATERIAL.jwk, abi.asJson(jwk), options('addJwk', MATERIAL_OPTIONS, given));
  }

  addPublicKey(issuerId, pem, given) {
    const more = options('addPublicKey', MATERIAL_OPTIONS, given);
    this.#add(issuerId, MATERIAL.publicKey, pem, more);
  }

  addRoots(issuerId, file, given) {
    this.#add(issuerId, MATERIAL.root, file, options('addRoots', MATERIAL_OPTIONS, given));
  }

  addStatusRoots(issuerId, file, given) {
    const more = options('addStatusRoots', MATERIAL_OPTIONS, given);
    this.#add(issuerId, MATERIAL.statusRoot, file, more);
  }

  addSdJwtRoots(issuerId, file, given) {
    const more = options('addSdJwtRoots', MATERIAL_OPTIONS, given);
    this.#add(issuerId, MATERIAL.sdJwtRoot, file, more);
  }

  addSdJwtSigners(issuerId, file, given) {
    const more = options('addSdJwtSigners', MATERIAL_OPTIONS, given);
    this.#add(issuerId, MATERIAL.sdJwtSigner, file, more);
  }

  addPinnedSigners(issuerId, file, given) {
    const more = options('addPinnedSigners', MATERIAL_OPTIONS, given);
    this.#add(issuerId, MATERIAL.pinnedSigner, file, more);
  }

  addCrls(issuerId, file, given) {
    this.#add(issuerId, MATERIAL.crl, file, options('addCrls', ['now'], given));
  }

  addMasterList(issuerId, file, given) {
    const more = options('addMasterList', LIST_OPTIONS, given);
    return this.#add(issuerId, MATERIAL.masterList, file, more).map(listed);
  }

  addVical(issuerId, file, given) {
    const more = options('addVical', LIST_OPTIONS, given);
    return this.#add(issuerId, MATERIAL.vical, file, more).map(listed);
  }

  addTrustedList(issuerId, file, given) {
    const more = options('addTrustedList', LIST_OPTIONS, given);
    const told = this.#add(issuerId, MATERIAL.trustedList, file, more);
    return {
      listType: told.list_type,
      sequence: told.sequence,
      issuedAt: new Date(told.issued_at_ms),
      nextUpdate: new Date(told.next_update_ms),
      organization: told.organization,
      providers: told.providers,
      certificates: told.certificates.map(listed),
    };
  }

  /** Verifies one presentation as it stands in `vp_token`, without a session. */
  verify(presentation, expected) {
    const out = {};
    abi.call('verify_presentation', ...this.#verification(presentation, expected), out);
    return read(abi.takeJson(out));
  }

  /** The same on a worker thread. */
  async verifyAsync(presentation, expected) {
    const out = {};
    await abi.callAsync('verify_presentation', ...this.#verification(presentation, expected), out);
    return read(abi.takeJson(out));
  }

  #verification(presentation, given) {
    const expected = options('verify', EXPECTED, given);
    const json = {
      format: expected.format,
      issuer_id: expected.issuerId,
      client_id: expected.clientId,
      nonce: expected.nonce,
      claims: expected.claims,
      response_uri: expected.responseUri,
      doc_type: expected.docType,
      namespace: expected.namespace,
      enc_key: expected.encKey,
      apu: expected.apu,
      alg: expected.alg,
      livemode: expected.livemode,
      checks: expected.checks,
      requested_at_ms: expected.requestedAt && abi.millis(expected.requestedAt),
    };
    // A copy: nobody changes what a worker thread reads.
    return [
      abi.pointer(this),
      ...abi.data(abi.asJson(json)),
      ...abi.data(Buffer.from(presentation)),
      abi.millis(expected.now),
    ];
  }

  #add(issuerId, material, file, { signerCa, testOnly, allowStale, now }) {
    const flags = (testOnly ? TEST_ONLY : 0) | (allowStale ? ALLOW_STALE : 0);
    return abi.makeJson(
      'trust_add',
      abi.pointer(this),
      ...abi.data(issuerId),
      material,
      ...abi.data(file),
      ...abi.data(signerCa),
      flags,
      abi.millis(now),
    );
  }
}

function listed({ skipped_because: skippedBecause, ...rest }) {
  return { ...rest, skippedBecause };
}

function provider({ list_type: listType, list_sequence: listSequence, ...rest }) {
  return { ...rest, listType, listSequence };
}

function read(told) {
  return {
    claims: told.claims,
    credentialType: told.credential_type,
    issuer: told.issuer,
    alg: told.alg,
    holderBinding: told.holder_binding,
    trust: told.trust,
    provider: told.provider && provider(told.provider),
    sessionTranscript: told.session_transcript,
    validFrom: abi.dateOrNull(told.valid_from_ms),
    validUntil: abi.dateOrNull(told.valid_until_ms),
    revocation: told.revocation,
    revocationDetails: told.revocation_details,
    issuingCountryUnbound: told.issuing_country_unbound,
    checks: told.checks,
  };
}

module.exports = { Trust };
