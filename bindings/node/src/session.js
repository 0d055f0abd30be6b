'use strict';

const abi = require('./abi.js');

/** One verification at one revision; it never changes. */
class Session extends abi.Handle {
  constructor(pointer) {
    super('session_free', pointer);
  }

  /** The session of `snapshot()`, with its result when you kept that. */
  static restore(snapshot, result) {
    const session = new Session(abi.make('session_restore', ...abi.data(snapshot)));
    if (!result) return session;
    try {
      const pointer = abi.pointer(session);
      return new Session(abi.make('session_restore_result', pointer, ...abi.data(result)));
    } finally {
      session.close();
    }
  }

  snapshot() {
    return abi.makeBytes('session_snapshot', abi.pointer(this));
  }

  resultSnapshot(now) {
    return abi.orNull(() =>
      abi.makeBytes('session_result_snapshot', abi.pointer(this), abi.millis(now)),
    );
  }

  info(now) {
    const told = abi.makeJson('session_info', abi.pointer(this), abi.millis(now));
    return {
      sessionId: told.session_id,
      tenant: told.tenant,
      livemode: told.livemode,
      status: told.status,
      reason: told.reason,
      walletError: told.wallet_error,
      revision: told.revision,
      createdAt: new Date(told.created_at_ms),
      expiresAt: new Date(told.expires_at_ms),
      settledAt: abi.dateOrNull(told.settled_at_ms),
      qrCodeUrl: told.qr_code_url ?? null,
      deepLinks: told.deep_links ?? {},
      offers: told.offers.map((offer) => ({
        id: offer.id,
        profile: offer.profile,
        clientId: offer.client_id,
        responseUri: offer.response_uri,
        requestUri: offer.request_uri,
        deepLinks: offer.deep_links ?? {},
      })),
      dcApi: told.dc_api,
    };
  }

  result(now) {
    return result('session_result', abi.pointer(this), abi.millis(now));
  }

  resultFor(responseCode, now) {
    const given = abi.data(responseCode);
    return result('session_result_for', abi.pointer(this), ...given, abi.millis(now));
  }

  followed(now) {
    return this.#transition('session_followed', now);
  }

  due(now) {
    return this.#transition('session_due', now);
  }

  released(now) {
    return this.#transition('session_released', now);
  }

  #transition(name, now) {
    return abi.orNull(() =>
      transition(abi.makeStruct(name, abi.pointer(this), abi.millis(now))),
    );
  }
}

function result(name, ...parameters) {
  const told = abi.orNull(() => abi.makeJson(name, ...parameters));
  return told && { claims: told.claims, verificationDetails: told.verification_details };
}

/** A change to commit, from what the library made. */
function transition(made) {
  return Object.freeze({
    fromRevision: Number(made.from),
    session: new Session(made.session),
    effects: abi.takeJson(made.effects),
  });
}

module.exports = { Session, transition };
