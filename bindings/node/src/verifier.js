'use strict';

const abi = require('./abi.js');
const { options } = require('./options.js');
const { transition } = require('./session.js');

const NEED = 1;

/** A configured verifier: make a new one to change trust. */
class Verifier extends abi.Handle {
  #signer;

  constructor(baseUrl, trust, given) {
    const { signer, trustVersion = 1 } = options('Verifier', ['signer', 'trustVersion'], given);
    const [url, version] = [abi.data(baseUrl), abi.count(trustVersion, 'trustVersion')];
    super(
      'verifier_free',
      signer
        ? abi.make(
            'verifier_new_jar',
            ...url,
            abi.pointer(signer),
            abi.pointer(trust),
            version,
          )
        : abi.make('verifier_new_inline', ...url, abi.pointer(trust), version),
    );
    // Kept, closed or not: its function may be called for as long as there is a verifier.
    this.#signer = signer;
  }

  createSession(request, given) {
    const known = ['tenant', 'livemode', 'now'];
    const { tenant = '', livemode = true, now } = options('createSession', known, given);
    const made = abi.makeStruct(
      'session_create',
      abi.pointer(this),
      ...abi.data(abi.asJson(request)),
      ...abi.data(tenant),
      livemode,
      abi.millis(now),
    );
    return transition(made);
  }

  requestObject(session, given) {
    const { walletNonce, now } = options('requestObject', ['walletNonce', 'now'], given);
    const [next, jwt] = [{}, {}];
    abi.call(
      'session_request_object',
      abi.pointer(this),
      abi.pointer(session),
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
    const { now } = options('begin', ['now'], given);
    return new Verification(
      abi.make(
        'verification_begin',
        abi.pointer(this),
        abi.pointer(session),
        ...abi.data(contentType),
        ...abi.data(body),
        abi.millis(now),
      ),
    );
  }
}

/** A wallet's answer under verification. */
class Verification extends abi.Handle {
  constructor(pointer) {
    super('verification_free', pointer);
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
   * needs at once. The decision's own transition is yours to commit.
   */
  async decide(world) {
    const { commit, fetch } = options('decide', ['commit', 'fetch'], world);
    for (;;) {
      const step = await this.stepAsync();
      if (step.kind === 'done') return step;
      await commit(step.hold);
      const bodies = await Promise.all(step.needs.map((need) => fetch(need)));
      step.needs.forEach((need, index) => this.supply(need, bodies[index]));
    }
  }
}

function read(step) {
  const [told, next] = [abi.takeJson(step.json), transition(step.transition)];
  if (step.kind === NEED) {
    return { kind: 'need', hold: next, needs: told.needs.map((need, index) => ({ index, ...need })) };
  }
  return {
    kind: 'done',
    transition: next,
    reply: told.reply,
    redirectUri: told.redirect_uri,
    status: told.status,
    reason: told.reason,
    walletError: told.wallet_error,
    report: told.report,
  };
}

module.exports = { Verification, Verifier };
