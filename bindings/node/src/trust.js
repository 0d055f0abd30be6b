'use strict';

const abi = require('./abi.js');

const MATERIAL = {
  jwk: 1,
  publicKey: 2,
  root: 3,
  pinnedSigner: 4,
  masterList: 5,
  vical: 6,
  crl: 7,
};
const TEST_ONLY = 1;
const ALLOW_STALE = 2;

/** A collection of trust entries; an empty one trusts nobody. */
class Trust extends abi.Handle {
  constructor() {
    super('trust_free', abi.make('trust_new'));
  }

  addIssuer(issuerId, options = {}) {
    const entry = {
      issuer_id: issuerId,
      iss: options.iss,
      vct: options.vct,
      doc_types: options.docTypes,
      namespaces: options.namespaces,
      claims: options.claims,
      countries: options.countries,
      ekus: options.ekus,
      revocation: options.revocation,
    };
    abi.call('trust_add_entry', abi.pointer(this), ...abi.data(abi.asJson(entry)));
  }

  addJwk(issuerId, jwk, options) {
    this.#add(issuerId, MATERIAL.jwk, abi.asJson(jwk), options);
  }

  addPublicKey(issuerId, pem, options) {
    this.#add(issuerId, MATERIAL.publicKey, pem, options);
  }

  addRoots(issuerId, file, options) {
    this.#add(issuerId, MATERIAL.root, file, options);
  }

  addPinnedSigners(issuerId, file, options) {
    this.#add(issuerId, MATERIAL.pinnedSigner, file, options);
  }

  addCrls(issuerId, file) {
    this.#add(issuerId, MATERIAL.crl, file);
  }

  addMasterList(issuerId, file, options) {
    return this.#add(issuerId, MATERIAL.masterList, file, options);
  }

  addVical(issuerId, file, options) {
    return this.#add(issuerId, MATERIAL.vical, file, options);
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

  #verification(presentation, expected) {
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

  #add(issuerId, material, file, options = {}) {
    const flags =
      (options.testOnly ? TEST_ONLY : 0) | (options.allowStale ? ALLOW_STALE : 0);
    return abi.makeJson(
      'trust_add',
      abi.pointer(this),
      ...abi.data(issuerId),
      material,
      ...abi.data(file),
      ...abi.data(options.signerCa),
      flags,
      abi.millis(options.now),
    );
  }
}

function read(told) {
  return {
    claims: told.claims,
    credentialType: told.credential_type,
    issuer: told.issuer,
    alg: told.alg,
    holderBinding: told.holder_binding,
    trust: told.trust,
    sessionTranscript: told.session_transcript,
    validFrom: abi.dateOrNull(told.valid_from_ms),
    validUntil: abi.dateOrNull(told.valid_until_ms),
    revocation: told.revocation,
    checks: told.checks,
  };
}

module.exports = { Trust };
