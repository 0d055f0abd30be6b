'use strict';

const abi = require('./abi.js');
const { Lazy, fetchAll, recall } = require('./fetcher.js');
const { options } = require('./options.js');
const { transition } = require('./session.js');

const NEED = 1;

const KNOWN = [
  'signer',
  'former',
  'profiles',
  'requestMode',
  'clientId',
  'responseMode',
  'requestUriMethod',
  'dcApi',
  'trustVersion',
  'fetch',
];

/** The options as the library names them; what is undefined stays out. */
function profiles(choices, signed) {
  return {
    profiles: choices.profiles,
    request_mode: choices.requestMode ?? (signed ? 'jar' : 'inline'),
    client_id: choices.clientId,
    response_mode: choices.responseMode,
    request_uri_method: choices.requestUriMethod,
    dc_api: choices.dcApi,
  };
}

/** A configured verifier: make a new one to change trust. */
class Verifier extends abi.Handle {
  #signers;
  #fetcher;

  constructor(baseUrl, trust, given) {
    const known = options('Verifier', KNOWN, given);
    const { signer, former = [], trustVersion = 1, fetch, ...choices } = known;
    const fetcher = new Lazy(fetch);
    const signers = signer ? [signer].flat() : [];
    super(
      'verifier_free',
      abi.make(
        'verifier_new',
        ...abi.data(baseUrl),
        ...abi.data(JSON.stringify(profiles(choices, signers.length > 0))),
        ...abi.handles(signers),
        ...abi.handles(former),
        abi.pointer(trust),
        abi.count(trustVersion, 'trustVersion'),
      ),
    );
    // Kept, closed or not: their functions may be called for as long as there is a verifier.
    this.#signers = [...signers, ...former];
    this.#fetcher = fetcher;
  }

  createSession(request, given) {
    const known = ['tenant', 'livemode', 'registration', 'strict', 'now'];
    const chosen = options('createSession', known, given);
    const { tenant = '', livemode = true, registration, strict = false, now } = chosen;
    const asked = [...abi.data(abi.asJson(request)), ...abi.data(tenant), livemode];
    const [name, registered] =
      registration === undefined
        ? ['session_create', []]
        : ['session_create_registered', [...abi.data(registration), strict]];
    const parameters = [abi.pointer(this), ...asked, ...registered, abi.millis(now)];
    return transition(abi.makeStruct(name, ...parameters));
  }

  compareRegistration(registration, request, given) {
    const known = ['livemode', 'now'];
    const { livemode = true, now } = options('compareRegistration', known, given);
    return abi.makeJson(
      'registration_compare',
      abi.pointer(this),
      ...abi.data(registration),
      ...abi.data(abi.asJson(request)),
      livemode,
      abi.millis(now),
    );
  }

  requestObject(session, given) {
    const known = ['offer', 'walletNonce', 'now'];
    const { offer, walletNonce, now } = options('requestObject', known, given);
    const [next, jwt] = [{}, {}];
    abi.call(
      'offer_request_object',
      abi.pointer(this),
      abi.pointer(session),
      ...abi.data(offer),
      ...abi.data(walletNonce),
      abi.millis(now),
      next,
      jwt,
    );
    return {
      jwt: abi.take(jwt).toString(),
      transition: next.session ? transition(next) : null,
    };
  }

  begin(session, body, contentType, given) {
    const { offer, now } = options('begin', ['offer', 'now'], given);
    return new Verification(
      abi.make(
        'offer_verification_begin',
        abi.pointer(this),
        abi.pointer(session),
        ...abi.data(offer),
        ...abi.data(contentType),
        ...abi.data(body),
        abi.millis(now),
      ),
      this.#fetcher,
    );
  }

  dcApiRequests(session, given) {
    const { now } = options('dcApiRequests', ['now'], given);
    const parameters = [abi.pointer(this), abi.pointer(session), abi.millis(now)];
    return abi.makeJson('dc_api_requests', ...parameters);
  }

  beginDcApi(session, answer, given) {
    const { now } = options('beginDcApi', ['now'], given);
    return new Verification(
      abi.make(
        'dc_api_verification_begin',
        abi.pointer(this),
        abi.pointer(session),
        ...abi.data(abi.asJson(answer)),
        abi.millis(now),
      ),
      this.#fetcher,
    );
  }
}

/** A wallet's answer under verification. */
class Verification extends abi.Handle {
  #fetcher;

  constructor(pointer, fetcher) {
    super('verification_free', pointer);
    this.#fetcher = fetcher;
  }

  step() {
    return read(abi.makeStruct('verification_step', abi.pointer(this)));
  }

  /** The same on a worker thread. */
  async stepAsync() {
    const step = {};
    await abi.callAsync('verification_step', abi.pointer(this), step);
    return read(step);
  }

  supply(need, body, now) {
    const missing = body === null || body === undefined;
    abi.call(
      'verification_supply',
      abi.pointer(this),
      abi.count(need.index, 'need.index'),
      missing,
      ...abi.data(body),
      abi.millis(now),
    );
  }

  /**
   * Steps to the end on worker threads: commits the hold before the first fetch, and fetches all
   * needs at once; what is known and fresh is neither held nor fetched. A `fetch` of your own takes
   * the place of the verifier's. Whatever fails after that gives the hold back. The decision's own
   * transition is yours to commit.
   */
  async decide(world) {
    const { commit, fetch } = options('decide', ['commit', 'fetch'], world);
    if (fetch !== undefined && typeof fetch !== 'function') throw new TypeError('decide: fetch is a function');
    let held = null;
    try {
      for (;;) {
        const step = await this.stepAsync();
        if (step.kind === 'done') return step;
        if (fetch === undefined && (await recall(this, this.#fetcher))) continue;
        await commit(step.hold);
        held = step.hold;
        if (fetch === undefined) await fetchAll(this, this.#fetcher, step);
        else await this.#fetchWith(fetch, step);
      }
    } catch (problem) {
      // Who asked hears of the first fault; where somebody else was faster there is nothing to give back.
      if (held) await givenBack(held, commit).catch(() => {});
      throw problem;
    }
  }

  async #fetchWith(fetch, { needs }) {
    const bodies = await Promise.all(needs.map((need) => fetch(need)));
    needs.forEach((need, index) => this.supply(need, bodies[index]));
  }
}

async function givenBack(hold, commit) {
  const released = hold.session.released();
  if (released) await commit(released);
}

function read(step) {
  const [told, next] = [abi.takeJson(step.json), transition(step.transition)];
  if (step.kind === NEED) {
    const needs = told.needs.map(({ accept_otherwise: acceptOtherwise, ...need }, index) => {
      return { index, ...need, acceptOtherwise };
    });
    return { kind: 'need', hold: next, needs };
  }
  return {
    kind: 'done',
    transition: next,
    reply: told.reply,
    body: told.body,
    redirectUri: told.redirect_uri,
    status: told.status,
    reason: told.reason,
    walletError: told.wallet_error,
    report: told.report,
  };
}

module.exports = { Verification, Verifier };
