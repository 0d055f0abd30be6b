'use strict';

const abi = require('./abi.js');
const { options } = require('./options.js');

const { koffi } = abi;

// A verifier may sign long after its signer is closed, and keeps it: when the signer is collected,
// nobody can call its function any more.
const unreachable = new FinalizationRegistry((callback) => koffi.unregister(callback));

/** A fresh P-256 key, 32 bytes. Keep it sealed; `Signer` takes it. */
function generateSigningKey() {
  return abi.makeBytes('signing_key_generate');
}

/** Signs Request Objects: a key in memory, or a function of yours. */
class Signer extends abi.Handle {
  #of;

  constructor(baseUrl, key) {
    super(
      'signer_free',
      key instanceof External
        ? key.pointer
        : abi.make('signer_new', ...abi.data(baseUrl), ...abi.data(key)),
    );
  }

  /**
   * Signs through `sign`, as with an HSM: it takes the input and returns the 64 bytes of the raw
   * ES256 signature, at once.
   */
  static external(baseUrl, publicKey, sign) {
    const call = (_, input, length, signature) => {
      try {
        const made = sign(Buffer.from(koffi.view(input, Number(length))));
        if (!ArrayBuffer.isView(made) || made.length !== 64) return 2;
        new Uint8Array(koffi.view(signature, 64)).set(made);
        return 0;
      } catch {
        return 1;
      }
    };
    const key = abi.data(abi.asJson(publicKey));
    const callback = koffi.register(call, 'idgate_sign *');
    try {
      const parameters = [...abi.data(baseUrl), ...key, callback, null];
      const made = abi.make('signer_new_external', ...parameters);
      const signer = new Signer(baseUrl, new External(made));
      unreachable.register(signer, callback);
      return signer;
    } catch (problem) {
      koffi.unregister(callback);
      throw problem;
    }
  }

  /**
   * The same key with a certificate: PEM or DER, then those that lead up from it, checked for use
   * now. It signs requests that name you by it, and no others.
   */
  certified(chain, given) {
    const { now } = options('certified', ['now'], given);
    const made = abi.make(
      'signer_certified',
      abi.pointer(this),
      ...abi.data(chain),
      abi.millis(now),
    );
    const signer = new Signer('', new External(made));
    // Its function is the other's, which must not be collected.
    signer.#of = this;
    return signer;
  }

  /** Checks a registration certificate for use beside the certificate of this signer. */
  checkRegistration(jwt, given) {
    const { now } = options('checkRegistration', ['now'], given);
    const parameters = [abi.pointer(this), ...abi.data(jwt), abi.millis(now)];
    const told = abi.makeJson('registration_check', ...parameters);
    return {
      subject: told.subject,
      issuedAt: abi.dateOrNull(told.issued_at_ms),
      expiresAt: abi.dateOrNull(told.expires_at_ms),
      compared: told.compared,
    };
  }

  /** The public JWK, to be published. */
  publicKey() {
    return abi.makeJson('signer_public_key', abi.pointer(this));
  }
}

class External {
  constructor(pointer) {
    this.pointer = pointer;
  }
}

/** The DID document, to be served at `/.well-known/did.json`. */
function didDocument(baseUrl, keys) {
  return published('did_document', baseUrl, keys);
}

/** The JWK Set of the same keys, to be served at `/.well-known/jwks.json`. */
function jwks(baseUrl, keys) {
  return published('jwks', baseUrl, keys);
}

function published(name, baseUrl, keys) {
  return abi.makeJson(name, ...abi.data(baseUrl), ...abi.data(JSON.stringify(keys)));
}

module.exports = { Signer, didDocument, generateSigningKey, jwks };
