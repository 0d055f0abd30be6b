'use strict';

const abi = require('./abi.js');
const answers = require('./answer.js');
const { Misconfigured } = require('./errors.js');
const { MODES, PROFILES } = require('./expectation.js');
const { FETCH, Source } = require('./fetcher.js');
const { NOW, is, options, text } = require('./options.js');
const { withRequest } = require('./request.js');
const { Session, transition } = require('./session.js');
const { Signer, didDocument, jwks } = require('./signer.js');
const { Trust } = require('./trust.js');
const { decide, decideSync } = require('./verification.js');

/** The numbers of the choices of the library. */
const REQUEST_MODES = { inline: 1, jar: 2 };
const CLIENT_IDS = { did: 1, x509_san_dns: 2, x509_hash: 3 };
const RESPONSE_MODES = { auto: 0, direct_post: 1, 'direct_post.jwt': 2 };
const DC_API = { off: 0, unsigned: 1, signed: 2, multisigned: 3 };
const oneOf = (numbers) => is.oneOf(...Object.keys(numbers));

const signer = { name: 'a Signer', fits: (value) => value instanceof Signer };
const signers = { name: 'an array of Signers', fits: (all) => Array.isArray(all) && all.every(signer.fits) };

const KNOWN = {
  profiles: is.someOf('draft', '1.0', 'haip'),
  signer: is.some(signer),
  formerSigners: signers,
  requestMode: oneOf(REQUEST_MODES),
  clientId: oneOf(CLIENT_IDS),
  responseMode: oneOf(RESPONSE_MODES),
  requestUriMethod: is.oneOf('post'),
  dcApi: oneOf(DC_API),
  fetch: FETCH,
  trustVersion: is.number,
};
const MODE = oneOf(MODES);
const CREATED = { mode: MODE, tenant: is.text, registration: is.text, strict: is.flag, ...NOW };
const COMPARED = { mode: MODE, ...NOW };
const ASKED = { to: is.text, contentType: is.text, body: is.data, walletNonce: is.text, ...NOW };
const DECIDED = { fetch: FETCH, ...NOW };

/** A configured verifier. Make a new one to change trust. */
class Verifier extends abi.Handle {
  #baseUrl;
  #signers;
  #keys;
  #fetch;

  constructor(baseUrl, trust, given) {
    text(baseUrl, 'Verifier: the base URL');
    const known = options('Verifier', KNOWN, given, (field, why) => new Misconfigured({ field, why }));
    if (!known.profiles) throw new TypeError('Verifier: profiles is missing; name the profiles of sessions');
    const [current, former] = [[known.signer ?? []].flat(), known.formerSigners ?? []];
    check(known, current);
    super('verifier', made(baseUrl, trust, { ...known, current, former }));
    this.#baseUrl = baseUrl;
    // Keeps the signers even if they are closed, because a verifier may still call their functions.
    this.#signers = [...current, ...former];
    this.#keys = Signer.published(this.#signers);
    this.#fetch = known.fetch;
  }

  /** For this package. */
  static pointer(verifier, what = 'the verifier') {
    return abi.pointer(verifier, Verifier, what);
  }

  /** Creates a session from a request: an object, or the JSON that a tenant sent, as text or bytes. */
  createSession(request, given) {
    const { now, ...session } = options('createSession', CREATED, given);
    return withRequest('createSession', request, (json) => {
      const inputs = [Verifier.pointer(this), abi.str(json), newSession('createSession', session), abi.millis(now)];
      return transition(abi.run('session_create', inputs, abi.STRUCT));
    });
  }

  /** Compares a registration certificate with this request. */
  compareRegistration(registration, request, given) {
    const { now, ...session } = options('compareRegistration', COMPARED, given);
    text(registration, 'compareRegistration: the registration');
    return withRequest('compareRegistration', request, (json) => {
      const compared = newSession('compareRegistration', { ...session, registration });
      const inputs = [Verifier.pointer(this), abi.str(json), compared, abi.millis(now)];
      return abi.run('registration_compare', inputs, abi.JSON_TEXT);
    });
  }

  /** The signed request of a session, with the transition to commit before you serve it. */
  requestObject(session, given) {
    const { to, contentType, body, walletNonce, now } = options('requestObject', ASKED, given);
    text(to, 'requestObject: to');
    if (walletNonce !== undefined && (contentType !== undefined || body !== undefined)) {
      throw new TypeError('requestObject: walletNonce is given together with a form; leave one of them out');
    }
    const asked = abi.sized('asked', {
      to: abi.str(to),
      content_type: abi.str(contentType),
      body: abi.str(body),
      wallet_nonce: abi.str(walletNonce),
    });
    const inputs = [Verifier.pointer(this), Session.pointer(session), asked, abi.millis(now)];
    const { reply: http, transition: next } = abi.run('request_object', inputs, abi.STEP);
    return Object.freeze({ jwt: http.body, http, transition: next && transition(next) });
  }

  /** The requests that a page passes to its browser. */
  dcApiRequests(session, given) {
    const { now } = options('dcApiRequests', NOW, given);
    const inputs = [Verifier.pointer(this), Session.pointer(session), abi.millis(now)];
    return abi.run('dc_api_requests', inputs, abi.JSON_TEXT);
  }

  /**
   * Decides about an answer: commits a hold before the first fetch, fetches status lists and CRLs, and commits the
   * decision. It works on worker threads.
   */
  async decide(session, answer, store, given) {
    const { fetch = this.#fetch, now } = options('decide', DECIDED, given);
    const verification = this.#begin('decide', session, answer, now);
    try {
      return await decide(verification, store, new Source(fetch), now);
    } finally {
      abi.free('verification', verification);
    }
  }

  /** The same on this thread, with a synchronous store. */
  decideSync(session, answer, store, given) {
    const { fetch = this.#fetch, now } = options('decideSync', DECIDED, given);
    const verification = this.#begin('decideSync', session, answer, now);
    try {
      return decideSync(verification, store, new Source(fetch), now);
    } finally {
      abi.free('verification', verification);
    }
  }

  /** The DID document, for `/.well-known/did.json`; null: no key signs under the DID. */
  didDocument() {
    return this.#keys.length === 0 ? null : didDocument(this.#baseUrl, this.#keys);
  }

  /** The same keys as a JWK Set, for `/.well-known/jwks.json`. */
  jwks() {
    return jwks(this.#baseUrl, this.#keys);
  }

  #begin(what, session, answer, now) {
    const read = answers.read(what, answer);
    const inputs = [Verifier.pointer(this), Session.pointer(session), read, abi.millis(now)];
    return abi.run('verification_begin', inputs, abi.HANDLE);
  }
}

function newSession(what, { mode, tenant, registration, strict = false }) {
  if (!mode) throw new TypeError(`${what}: mode is missing: say "live" or "test"`);
  return abi.sized('new_session', {
    mode: MODES[mode],
    strict: strict ? 1 : 0,
    tenant: abi.str(tenant),
    registration: abi.str(registration),
  });
}

/** Throws for options that do not fit together. */
function check({ requestMode, profiles, dcApi = 'off' }, current) {
  const wrong = (field, why) => new Misconfigured({ field, why });
  if (profiles.length === 0) throw wrong('profiles', 'is empty; name the profiles of sessions');
  if (requestMode === 'jar' && current.length === 0) throw wrong('requestMode', 'is jar, which needs a signer');
  if (dcApi !== 'off' && profiles.every((profile) => profile === 'draft')) {
    throw wrong('dcApi', 'needs the profile 1.0 or haip');
  }
}

function made(baseUrl, trust, known) {
  const pointer = Trust.pointer(trust);
  const trustVersion = abi.count(known.trustVersion ?? 0, 'trustVersion');
  const choices = abi.run('verifier_options_new', [abi.str(baseUrl)], abi.HANDLE);
  const choose = (name, ...choice) => abi.choose(choices, name, ...choice);
  try {
    for (const profile of known.profiles) choose('profile', PROFILES[profile]);
    for (const one of known.current) choose('signer', Signer.pointer(one));
    for (const one of known.former) choose('former_signer', Signer.pointer(one));
    if (known.requestMode) choose('request_mode', REQUEST_MODES[known.requestMode]);
    if (known.clientId) choose('client_id', CLIENT_IDS[known.clientId]);
    if (RESPONSE_MODES[known.responseMode]) choose('response_mode', RESPONSE_MODES[known.responseMode]);
    if (known.requestUriMethod) choose('request_uri_post');
    if (DC_API[known.dcApi]) choose('dc_api', DC_API[known.dcApi]);
    choose('trust_version', trustVersion);
    return abi.run('verifier_new', [choices, pointer], abi.HANDLE);
  } finally {
    abi.free('verifier_options', choices);
  }
}

module.exports = { Verifier };
