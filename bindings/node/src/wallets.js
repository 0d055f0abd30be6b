'use strict';
// One handler for the routes of OpenID4VP that wallets use. Replies are those of the gateway.

const { NotAnAnswer, NotAvailable } = require('./errors.js');
const { FETCH } = require('./fetcher.js');
const { is, options } = require('./options.js');
const { TRY_AGAIN, refusal } = require('./reply.js');
const { isOpen } = require('./session.js');
const { Verifier } = require('./verifier.js');

const PATH = /^\/v1\/oid4vp\/(request|response)\/([A-Za-z0-9_-]{1,64})$/;
const DOCUMENTS = {
  '/.well-known/did.json': (verifier) => verifier.didDocument(),
  '/.well-known/jwks.json': (verifier) => verifier.jwks(),
};
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_FORM_BYTES = 64 * 1024;
/** Enough for the largest answer on a slow network. */
const BODY_TIME_MS = 30_000;
/** A fetch is retried if another one was faster. That one made the session PENDING, so a retry succeeds. */
const TRIES = 3;

/**
 * A handler of the four routes that wallets use: `GET` and `POST /v1/oid4vp/request/{handle}`,
 * `POST /v1/oid4vp/response/{handle}`, and `GET` of the two documents with the keys that sign. Serve them at the root
 * of the verifier's base URL, without a login.
 */
function wallets(verifier, store, given) {
  Verifier.pointer(verifier, 'wallets: the verifier');
  for (const name of ['load', 'commit']) {
    if (typeof store?.[name] !== 'function') throw new TypeError(`wallets: the store has no function ${name}`);
  }
  const known = { fetch: FETCH, onRefused: is.function, onFault: is.function };
  const { fetch, onRefused = () => {}, onFault = console.error } = options('wallets', known, given);
  const routes = new Routes(verifier, guarded(store), { fetch, onRefused, onFault });
  const handle = (request) => routes.handle(request);
  /** Whether a path is one of these routes. */
  handle.serves = (path) => PATH.test(path) || Object.hasOwn(DOCUMENTS, path);
  return handle;
}

class Routes {
  #verifier;
  #store;
  #world;

  constructor(verifier, store, world) {
    this.#verifier = verifier;
    this.#store = store;
    this.#world = world;
  }

  async handle(request) {
    try {
      return await this.#route(request);
    } catch (problem) {
      return this.#refusal(problem);
    }
  }

  async #route(request) {
    const { pathname: path } = new URL(request.url);
    const { method } = request;
    const [, kind, handle] = PATH.exec(path) ?? [];
    if (kind === 'response') {
      return method === 'POST' ? this.#answer(handle, request) : notAllowed('POST');
    }
    if (kind === 'request') {
      // Not HEAD: a HEAD request does not fetch the Request Object, but the session would record a fetch.
      return method === 'GET' || method === 'POST' ? this.#request(handle, request) : notAllowed('GET, POST');
    }
    if (!Object.hasOwn(DOCUMENTS, path)) return response(NO_SUCH_PATH);
    if (method !== 'GET' && method !== 'HEAD') return notAllowed('GET, HEAD');
    const document = DOCUMENTS[path](this.#verifier);
    return document ? published(document, method) : response(NO_SUCH_PATH);
  }

  async #answer(to, request) {
    const isAwaited = await this.#open(to);
    const body = await bodyOf(request, isAwaited ? MAX_ANSWER_BYTES : 0);
    const session = await this.#open(to);
    if (!session) throw NotAnAnswer.sessionClosed();
    const answer = { to, body, contentType: request.headers.get('content-type') };
    const decision = await this.#verifier.decide(session, answer, this.#store, { fetch: this.#world.fetch });
    if (decision.reply === 'refused') this.#refused(decision);
    return response(decision.http);
  }

  /** The decision is stored, so the wallet gets its reply even if a log fails. */
  #refused(decision) {
    tell(this.#world.onRefused, decision, (problem) => this.#fault(problem));
  }

  #fault(fault) {
    tell(this.#world.onFault, fault, (problem) => console.error(fault, problem));
  }

  async #request(to, request) {
    let form = null;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const session = await this.#open(to);
      if (!session) return response(NOT_FETCHABLE);
      form ??= await formOf(request);
      const { http, transition } = this.#verifier.requestObject(session, { to, ...form });
      if (transition === null || (await this.#store.commit(transition))) return response(http);
    }
    return response(TRY_AGAIN);
  }

  /** The session with that handle, if it accepts an answer. */
  async #open(handle) {
    const session = await this.#store.load(handle);
    return session && isOpen(session.info().status) ? session : null;
  }

  #refusal(problem) {
    if (problem instanceof NotAnAnswer) return response(problem.http);
    this.#fault(problem instanceof StoreFailed ? problem.cause : problem);
    if (problem instanceof StoreFailed || problem instanceof NotAvailable) return response(TRY_AGAIN);
    return response(refusal(500, 'internal_error', 'a fault of this service'));
  }
}

/** Calls a function of the caller without waiting for it. Its failure, immediate or later, goes to `failed`. */
function tell(listener, told, failed) {
  try {
    Promise.resolve(listener(told)).catch(failed);
  } catch (problem) {
    failed(problem);
  }
}

/** The store failed. */
class StoreFailed extends Error {}

/** A store whose errors are marked as errors of the store. */
function guarded(store) {
  const guard = async (name, given) => {
    try {
      return await store[name](given);
    } catch (cause) {
      throw new StoreFailed(`the store failed at ${name}`, { cause });
    }
  };
  return { load: (handle) => guard('load', handle), commit: (transition) => guard('commit', transition) };
}

/** The form of a POST, with the nonce of the wallet. */
async function formOf(request) {
  if (request.method === 'GET') return {};
  return { contentType: request.headers.get('content-type'), body: await bodyOf(request, MAX_FORM_BYTES) };
}

/**
 * The body of a request. With a limit of 0 nothing is read. A body that is too large is read only until the limit, and
 * the library refuses it.
 */
async function bodyOf(request, room) {
  if (room === 0 || !request.body) return new Uint8Array();
  const reader = request.body.getReader();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(incomplete('the body did not arrive in time')), BODY_TIME_MS);
  });
  try {
    const parts = [];
    for (let size = 0; size <= room;) {
      const { done, value } = await Promise.race([reader.read().catch(cut), late]);
      if (done) break;
      size += value.byteLength;
      parts.push(value);
    }
    return Buffer.concat(parts);
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

const incomplete = (message) => new NotAnAnswer({ code: 'invalid_response', message });

function cut() {
  throw incomplete('the body is incomplete');
}

const NOT_FETCHABLE = refusal(404, 'not_found', 'the session has no Request Object to fetch');
const NO_SUCH_PATH = refusal(404, 'not_found', 'there is nothing at this path');

function notAllowed(methods) {
  const message = 'this path does not support that method; see Allow';
  return response(refusal(405, 'method_not_allowed', message, { allow: methods }));
}

function response({ status, headers, body }) {
  return new Response(body, { status, headers });
}

/** A public document, also for scripts of other pages. */
function published(document, method) {
  const headers = {
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
    'content-type': 'application/json',
  };
  return new Response(method === 'HEAD' ? null : JSON.stringify(document), { headers });
}

module.exports = { wallets };
