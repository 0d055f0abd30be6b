'use strict';

const abi = require('./abi.js');
const { NOW, data, is, isPlain, options, text } = require('./options.js');
const { dateOrNull } = require('./session.js');

const { koffi } = abi;

// A verifier may sign long after its signer is closed, so it keeps the signer. When the signer is collected,
// nothing can call its function any more.
const unreachable = new FinalizationRegistry((callback) => koffi.unregister(callback));

/** A fresh P-256 key of 32 bytes for `Signer`. Keep it encrypted. */
function generateSigningKey() {
  return abi.run('signing_key_generate', [], abi.BYTES);
}

/** Signs requests with a key in memory, or with a function of yours. */
class Signer extends abi.Handle {
  /** The signer whose function this one calls: it must not be collected. */
  #of = null;
  #isCertified = false;

  constructor(baseUrl, key) {
    super('signer', key instanceof Made ? key.pointer : inMemory(baseUrl, key));
  }

  /**
   * Signs through `sign`, for example with an HSM. It takes the input and synchronously returns the 64 bytes of the raw
   * ES256 signature.
   */
  static external(baseUrl, publicKey, sign) {
    const url = abi.str(text(baseUrl, 'Signer.external: the base URL'));
    const key = abi.str(json(publicKey, 'Signer.external: the public key'));
    if (!is.function.fits(sign)) throw new TypeError('Signer.external: sign is not a function');
    const callback = abi.signing(calling(sign));
    try {
      const made = abi.run('signer_new_external', [url, key, callback, null], abi.HANDLE);
      const signer = new Signer(baseUrl, new Made(made));
      unreachable.register(signer, callback);
      return signer;
    } catch (problem) {
      koffi.unregister(callback);
      throw problem;
    }
  }

  /** For this package. */
  static pointer(signer, what = 'the signer') {
    return abi.pointer(signer, Signer, what);
  }

  /** The keys that sign under a DID, each once. */
  static published(signers) {
    const keys = signers.filter((signer) => !signer.#isCertified).map((signer) => signer.publicKey());
    return [...new Map(keys.map((key) => [key.kid, key])).values()];
  }

  /**
   * A signer with the same key and a certificate, in PEM or DER, then those that lead up from it. The chain is checked
   * for use now. The signer signs only requests that name you by the certificate.
   */
  certified(chain, given) {
    const { now } = options('certified', NOW, given);
    const inputs = [Signer.pointer(this), abi.str(data(chain, 'certified: the chain')), abi.millis(now)];
    const signer = new Signer('', new Made(abi.run('signer_certified', inputs, abi.HANDLE)));
    signer.#of = this;
    signer.#isCertified = true;
    return signer;
  }

  /** Checks a registration certificate for use together with the certificate of this signer. */
  checkRegistration(jwt, given) {
    const { now } = options('checkRegistration', NOW, given);
    const inputs = [Signer.pointer(this), abi.str(text(jwt, 'checkRegistration: the certificate')), abi.millis(now)];
    const told = abi.run('registration_check', inputs, abi.JSON_TEXT);
    return {
      subject: told.subject,
      issuedAt: dateOrNull(told.issued_at_ms),
      expiresAt: dateOrNull(told.expires_at_ms),
      compared: told.compared,
    };
  }

  /** The public JWK, for publication. */
  publicKey() {
    return abi.run('signer_public_key', [Signer.pointer(this)], abi.JSON_TEXT);
  }
}

/** A signer of the library. */
class Made {
  constructor(pointer) {
    this.pointer = pointer;
  }
}

function inMemory(baseUrl, key) {
  const url = abi.str(text(baseUrl, 'Signer: the base URL'));
  if (!ArrayBuffer.isView(key)) throw new TypeError('Signer: the key is not bytes');
  return abi.run('signer_new', [url, abi.str(key)], abi.HANDLE);
}

/** `sign` in the form that the library calls. */
function calling(sign) {
  return (_, input, length, signature) => {
    try {
      const made = sign(Buffer.from(koffi.view(input, Number(length))));
      if (!ArrayBuffer.isView(made) || made.length !== 64) return 2;
      new Uint8Array(koffi.view(signature, 64)).set(made);
      return 0;
    } catch {
      return 1;
    }
  };
}

function json(value, what) {
  return isPlain(value) ? JSON.stringify(value) : data(value, what);
}

/** The DID document of `keys`, for `/.well-known/did.json`. */
function didDocument(baseUrl, keys) {
  return published('did_document', 'didDocument', baseUrl, keys);
}

/** The JWK Set of the same keys, for `/.well-known/jwks.json`. */
function jwks(baseUrl, keys) {
  return published('jwks', 'jwks', baseUrl, keys);
}

function published(name, what, baseUrl, keys) {
  if (!Array.isArray(keys)) throw new TypeError(`${what}: the keys are not an array`);
  const inputs = [abi.str(text(baseUrl, `${what}: the base URL`)), abi.str(JSON.stringify(keys))];
  return abi.run(name, inputs, abi.JSON_TEXT);
}

module.exports = { Signer, didDocument, generateSigningKey, jwks };
