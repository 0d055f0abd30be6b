'use strict';

const abi = require('./abi.js');
const { Withheld } = require('./errors.js');
const { unlessNothing } = require('./failure.js');
const { data, isPlain, text } = require('./options.js');
const { Result } = require('./result.js');

/** The reader that is not a browser. */
const BACKEND = 'backend';
/** The numbers of `idgate_reader`. */
const READERS = { browser: 1, backend: 2 };

/** One session at one revision. It never changes. */
class Session extends abi.Handle {
  #kept = null;

  constructor(pointer) {
    super('session', pointer);
  }

  /** Restores a session from `snapshot()`, with its result if you kept that. */
  static restore(snapshot, result) {
    const restored = abi.run('session_restore', [abi.str(data(snapshot, 'Session.restore: the snapshot'))], abi.HANDLE);
    const session = new Session(restored);
    if (!result) return session;
    try {
      const kept = abi.str(data(result, 'Session.restore: the result'));
      return new Session(abi.run('session_restore_result', [restored, kept], abi.HANDLE));
    } finally {
      session.close();
    }
  }

  /** For this package. */
  static pointer(session, what = 'the session') {
    return abi.pointer(session, Session, what);
  }

  get id() {
    return this.#names().id;
  }

  /** Counts commits. */
  get revision() {
    return this.#names().revision;
  }

  /** The last segments of its paths: its id, and the ids of its offers. */
  get handles() {
    return this.#names().handles;
  }

  snapshot() {
    return abi.run('session_snapshot', [Session.pointer(this)], abi.BYTES);
  }

  resultSnapshot(now) {
    return unlessNothing(() => abi.run('session_result_snapshot', this.#at(now), abi.BYTES));
  }

  info(now) {
    const told = abi.run('session_info', this.#at(now), abi.JSON_TEXT);
    const common = {
      id: told.session_id,
      tenant: told.tenant,
      mode: told.mode,
      status: told.status,
      revision: told.revision,
      createdAt: new Date(told.created_at_ms),
      expiresAt: new Date(told.expires_at_ms),
      dcApi: told.dc_api,
      ...(told.trust_version !== null && { trustVersion: told.trust_version }),
    };
    return Object.freeze({ ...common, ...ofStatus(told) });
  }

  /** The result, readable for 30 seconds. Say who reads it. */
  result(reader, now) {
    const isBackend = reader === BACKEND;
    if (!isBackend && (!isPlain(reader) || !('responseCode' in reader))) {
      throw new TypeError('result: name the reader: { responseCode } for a browser, or "backend"');
    }
    const code = isBackend ? null : reader.responseCode;
    if (code !== null && code !== undefined) text(code, 'result: responseCode');
    const inputs = [Session.pointer(this), READERS[isBackend ? 'backend' : 'browser'], abi.str(code), abi.millis(now)];
    const told = unlessNothing(
      () => abi.run('session_result', inputs, abi.JSON_TEXT),
      (reason) => {
        throw new Withheld({ reason });
      },
    );
    return new Result(told);
  }

  /** Records that the person followed the link: CREATED becomes PENDING. */
  followed(now) {
    return this.#transition('session_followed', now);
  }

  /** EXPIRED, or PENDING after a verification that was given up; null: nothing is due. */
  due(now) {
    return this.#transition('session_due', now);
  }

  /** Gives up a verification early, so that the same answer can be accepted later. */
  released(now) {
    return this.#transition('session_released', now);
  }

  #transition(name, now) {
    return unlessNothing(() => transition(abi.run(name, this.#at(now), abi.STRUCT)));
  }

  #at(now) {
    return [Session.pointer(this), abi.millis(now)];
  }

  /** The facts that do not depend on the time. */
  #names() {
    if (this.#kept === null) {
      const { session_id: id, revision, offers } = abi.run('session_info', this.#at(), abi.JSON_TEXT);
      const handles = new Set([id, ...offers.map(({ handle }) => handle)]);
      this.#kept = { id, revision, handles: Object.freeze([...handles]) };
    }
    return this.#kept;
  }
}

const isOpen = (status) => status === 'CREATED' || status === 'PENDING';

function ofStatus(told) {
  if (isOpen(told.status)) {
    return {
      qrCodeUrl: told.qr_code_url,
      deepLinks: told.deep_links,
      offers: told.offers.map(offered),
    };
  }
  if (told.status === 'VERIFYING') return {};
  // A session that has expired and was not stored since then has only the time of its end.
  const settledAt = new Date(told.settled_at_ms ?? told.expires_at_ms);
  if (told.status === 'VERIFIED') return { settledAt };
  return { settledAt, reason: told.reason, ...(told.wallet_error && { walletError: told.wallet_error }) };
}

function offered(offer) {
  return {
    handle: offer.handle,
    profile: offer.profile,
    clientId: offer.client_id,
    responseUri: offer.response_uri,
    requestUri: offer.request_uri,
    deepLinks: offer.deep_links,
  };
}

/** A transition from the library's values. */
function transition(made) {
  return Object.freeze({
    fromRevision: Number(made.from),
    session: new Session(made.session),
    effects: abi.takeJson(made.effects).map(effect),
  });
}

const EFFECTS = {
  publish_status: (told) => ({
    type: 'publishStatus',
    status: told.status,
    reason: told.reason,
    walletError: told.wallet_error,
    occurredAt: new Date(told.occurred_at_ms),
  }),
  expire_at: (told) => ({ type: 'expireAt', at: new Date(told.at_ms) }),
  redact_claims_at: (told) => ({ type: 'redactClaimsAt', at: new Date(told.at_ms) }),
};

function effect(told) {
  return Object.freeze(EFFECTS[told.type](told));
}

function dateOrNull(ms) {
  return ms === null || ms === undefined ? null : new Date(ms);
}

module.exports = { Session, dateOrNull, isOpen, transition };
