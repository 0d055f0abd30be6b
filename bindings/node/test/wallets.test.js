'use strict';
// The routes, used by wallets and by strangers, with fetch's types, node:http and Express.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const ISSUER = 'https://issuer.example';
const FORM = 'application/x-www-form-urlencoded';
const BASE = 'https://gateway.example';
const KEY = new idgate.Signer(BASE, Buffer.alloc(32, 7));
const REQUEST = { credentials: [{ format: 'dc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] }] };

/** A store of sessions by handle. A test can make it fail, or lose the next races. */
class Memory {
  sessions = new Map();
  isDown = false;
  racesToLose = 0;

  async load(handle) {
    if (this.isDown) throw new Error('down');
    return this.sessions.get(handle);
  }

  async commit({ fromRevision, session }) {
    if (this.isDown) throw new Error('down');
    if (this.racesToLose > 0) {
      this.racesToLose -= 1;
      return false;
    }
    if ((this.sessions.get(session.id)?.revision ?? 0) !== fromRevision) return false;
    for (const handle of session.handles) this.sessions.set(handle, session);
    return true;
  }
}

/** A shop, and its errors. */
function shop({ isSigned = false, ...more } = {}) {
  const trust = new idgate.Trust([{ id: ISSUER, vcts: ['urn:eudi:pid:1'], jwk: KEY.publicKey() }]);
  const signer = isSigned ? KEY : undefined;
  const verifier = new idgate.Verifier(BASE, trust, { profiles: ['1.0'], signer });
  const [store, faults, refused] = [new Memory(), [], []];
  const handle = idgate.wallets(verifier, store, {
    onFault: (fault) => faults.push(fault),
    onRefused: (decision) => refused.push(decision.reason),
    ...more,
  });
  return { verifier, store, handle, faults, refused };
}

async function begun({ verifier, store }, request = REQUEST) {
  const made = verifier.createSession(request, { mode: 'live' });
  assert.equal(await store.commit(made), true);
  const { id } = made.session;
  return { id, request: `/v1/oid4vp/request/${id}`, response: `/v1/oid4vp/response/${id}`, session: made.session };
}

const ask = (handle, method, path, init = {}) => handle(new Request(BASE + path, { method, ...init }));
const post = (handle, path, body, type = FORM) =>
  ask(handle, 'POST', path, { body, headers: type ? { 'content-type': type } : {} });

async function refusal(reply) {
  assert.equal(reply.headers.get('content-type'), 'application/json');
  const { error, message, ...rest } = await reply.json();
  assert.equal(typeof message, 'string');
  assert.deepEqual(rest, {});
  return [reply.status, error];
}

/** The body of a wallet that declines. */
const declined = (session) => {
  const state = new URL(session.info().qrCodeUrl).searchParams.get('state');
  return new URLSearchParams({ state, error: 'access_denied' }).toString();
};

test('an answer settles its session, once', async () => {
  const own = shop();
  const { id, response, session } = await begun(own);
  const reply = await post(own.handle, response, declined(session));
  assert.deepEqual([reply.status, await reply.json()], [200, {}]);
  assert.equal(reply.headers.get('content-type'), 'application/json');
  assert.equal(reply.headers.get('cache-control'), 'no-store');
  assert.equal((await own.store.load(id)).info().reason, 'wallet_error');
  assert.deepEqual(await refusal(await post(own.handle, response, 'x')), [409, 'session_not_pending']);
  assert.deepEqual(own.faults, []);
});

test('the reply to a refused answer has no reason, and the log has it', async () => {
  const own = shop();
  const { response, session } = await begun(own);
  const state = new URL(session.info().qrCodeUrl).searchParams.get('state');
  const body = new URLSearchParams({ state, vp_token: '{"credential_0":["x~"]}' }).toString();
  const reply = await post(own.handle, response, body);
  assert.deepEqual(await reply.clone().json(), {
    error: 'invalid_presentation',
    message: 'the presentation was refused',
  });
  assert.deepEqual(await refusal(reply), [400, 'invalid_presentation']);
  assert.equal(own.refused.length, 1);
});

test('a log that fails does not keep the reply from the wallet', async () => {
  const problem = new Error('the log is full');
  const onRefused = () => {
    throw problem;
  };
  const own = shop({ onRefused });
  const { response, session } = await begun(own);
  const state = new URL(session.info().qrCodeUrl).searchParams.get('state');
  const body = new URLSearchParams({ state, vp_token: '{"credential_0":["x~"]}' }).toString();
  assert.deepEqual(await refusal(await post(own.handle, response, body)), [400, 'invalid_presentation']);
  assert.deepEqual(own.faults, [problem]);
});

test('a log that fails, at once or later, ends no process and keeps no reply back', async (t) => {
  const [unhandled, printed] = [[], []];
  const note = (problem) => unhandled.push(problem);
  process.on('unhandledRejection', note);
  t.after(() => process.off('unhandledRejection', note));
  t.mock.method(console, 'error', (...told) => printed.push(...told));
  const problem = new Error('the log is down');
  const atOnce = () => {
    throw problem;
  };
  const later = async () => Promise.reject(problem);
  for (const onFault of [atOnce, later]) {
    for (const onRefused of [atOnce, later]) {
      const own = shop({ onFault, onRefused });
      const { response, session } = await begun(own);
      const state = new URL(session.info().qrCodeUrl).searchParams.get('state');
      const body = new URLSearchParams({ state, vp_token: '{"credential_0":["x~"]}' }).toString();
      assert.deepEqual(await refusal(await post(own.handle, response, body)), [400, 'invalid_presentation']);
      own.store.isDown = true;
      const reply = await post(own.handle, response, body);
      assert.deepEqual(await refusal(reply), [503, 'temporarily_unavailable']);
    }
  }
  // Node reports a rejection at the end of a turn.
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(unhandled, []);
  assert.equal(printed.filter((told) => told === problem).length, 12);
  assert.equal(printed.filter(({ message }) => message === 'down').length, 4);
});

test('a signed request is fetched by GET and by POST', async () => {
  const own = shop({ isSigned: true });
  const { id, request } = await begun(own);
  for (const [fetched, nonce] of [
    [await ask(own.handle, 'GET', request), undefined],
    [await post(own.handle, request, 'wallet_metadata=%7B%7D&wallet_nonce=a%2Bb+c'), 'a+b c'],
    [await post(own.handle, request, 'wallet_nonce=', `${FORM}; charset=UTF-8`), undefined],
  ]) {
    assert.equal(fetched.status, 200);
    assert.equal(fetched.headers.get('content-type'), 'application/oauth-authz-req+jwt');
    assert.equal(fetched.headers.get('cache-control'), 'no-store');
    const [, claims] = (await fetched.text()).split('.');
    assert.equal(JSON.parse(cases.decode(claims)).wallet_nonce, nonce);
  }
  const known = await own.store.load(id);
  assert.deepEqual([known.info().status, known.revision], ['PENDING', 2]);
});

test('a fetch that loses a race is retried three times', async () => {
  const own = shop({ isSigned: true });
  for (const [races, status] of [
    [2, 200],
    [3, 503],
  ]) {
    const { request } = await begun(own);
    own.store.racesToLose = races;
    const reply = await post(own.handle, request, 'wallet_nonce=n');
    assert.equal(reply.status, status);
    assert.equal(reply.headers.get('retry-after'), status === 503 ? '1' : null);
  }
});

test('the keys that sign are published', async () => {
  const [signed, unsigned] = [shop({ isSigned: true }), shop()];
  const document = await ask(signed.handle, 'GET', '/.well-known/did.json');
  const { id, authentication } = await document.json();
  assert.equal(id, 'did:web:gateway.example');
  const keys = await ask(signed.handle, 'GET', '/.well-known/jwks.json');
  for (const reply of [document, keys]) {
    assert.equal(reply.headers.get('cache-control'), 'public, max-age=300');
    assert.equal(reply.headers.get('access-control-allow-origin'), '*');
    assert.equal(reply.headers.get('content-type'), 'application/json');
  }
  assert.deepEqual(
    (await keys.json()).keys.map(({ kid }) => kid),
    authentication,
  );
  const head = await ask(signed.handle, 'HEAD', '/.well-known/jwks.json');
  assert.deepEqual([head.status, await head.text()], [200, '']);
  assert.deepEqual(await refusal(await ask(unsigned.handle, 'GET', '/.well-known/did.json')), [404, 'not_found']);
  assert.deepEqual(await (await ask(unsigned.handle, 'GET', '/.well-known/jwks.json')).json(), { keys: [] });
});

test('strangers receive only the error code', async () => {
  const own = shop();
  const { request, response } = await begun(own);
  for (const [method, path, status, code, allow = null] of [
    ['GET', '/', 404, 'not_found'],
    ['GET', '/v1/oid4vp', 404, 'not_found'],
    ['GET', '/constructor', 404, 'not_found'],
    ['PUT', '/.well-known/jwks.json', 405, 'method_not_allowed', 'GET, HEAD'],
    ['GET', response, 405, 'method_not_allowed', 'POST'],
    ['HEAD', request, 405, 'method_not_allowed', 'GET, POST'],
    ['GET', request, 404, 'not_found'], // the request is sent by value
    ['POST', request, 400, 'invalid_request'],
    ['POST', response, 400, 'invalid_response'],
    ['POST', '/v1/oid4vp/response/ses_0', 409, 'session_not_pending'],
    ['POST', '/v1/oid4vp/response/', 404, 'not_found'],
    ['POST', '/v1/oid4vp/response/a/b', 404, 'not_found'],
    ['POST', '/v1/oid4vp/response/%2e%2e', 404, 'not_found'],
    ['POST', `/v1/oid4vp/response/${'a'.repeat(65)}`, 404, 'not_found'],
    ['GET', '/v1/oid4vp/request/..', 404, 'not_found'],
    ['GET', '/v1/oid4vp/request/ses_0', 404, 'not_found'],
  ]) {
    const reply = await ask(own.handle, method, path);
    assert.equal(reply.headers.get('allow'), allow, `${method} ${path}`);
    assert.deepEqual(await refusal(reply), [status, code], `${method} ${path}`);
  }
  assert.deepEqual(own.faults, []);
});

test('an ambiguous form is refused', async () => {
  const own = shop({ isSigned: true });
  const { request } = await begun(own);
  for (const body of [
    'wallet_nonce=a&wallet_nonce=a',
    'wallet_nonce=a&wallet%5Fnonce=b',
    'wallet_nonce=%zz',
    'wallet_nonce=%ff',
    Buffer.from('wallet_nonce=\xff', 'latin1'),
    'wallet_nonce=a\r\n',
    'a=1&'.repeat(65),
    `wallet_nonce=${'a'.repeat(257)}`,
  ]) {
    assert.deepEqual(await refusal(await post(own.handle, request, body)), [400, 'invalid_request'], String(body));
  }
  for (const type of ['text/plain', 'application/json']) {
    assert.deepEqual(await refusal(await post(own.handle, request, 'wallet_nonce=a', type)), [400, 'invalid_request']);
  }
  const large = await post(own.handle, request, 'a'.repeat(64 * 1024 + 1));
  assert.deepEqual(await refusal(large), [413, 'payload_too_large']);
});

test('an answer over the limit is 413, and nothing is read of one without a session', async () => {
  const own = shop();
  const { response } = await begun(own);
  const large = Buffer.alloc(1024 * 1024 + 1, 'a');
  assert.deepEqual(await refusal(await post(own.handle, response, large)), [413, 'payload_too_large']);
  let pulled = 0;
  const body = new ReadableStream({ pull: () => void (pulled += 1) }, { highWaterMark: 0 });
  const asked = new Request(`${BASE}/v1/oid4vp/response/ses_0`, { method: 'POST', body, duplex: 'half' });
  assert.deepEqual(await refusal(await own.handle(asked)), [409, 'session_not_pending']);
  assert.equal(pulled, 0);
});

test('a body that does not come is not waited for', async (t) => {
  const own = shop();
  const { response } = await begun(own);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let body;
  const waitedFor = new Promise((resolve) => {
    const never = () => new Promise(() => resolve());
    body = new ReadableStream({ pull: never }, { highWaterMark: 0 });
  });
  const reply = own.handle(new Request(BASE + response, { method: 'POST', body, duplex: 'half' }));
  await waitedFor;
  t.mock.timers.tick(30_000);
  assert.deepEqual(await refusal(await reply), [400, 'invalid_response']);
  const cut = new ReadableStream({ pull: (controller) => controller.error(new Error('cut')) });
  const asked = new Request(BASE + response, { method: 'POST', body: cut, duplex: 'half' });
  assert.deepEqual(await refusal(await own.handle(asked)), [400, 'invalid_response']);
});

test('a store that is down is a 503 with Retry-After', async () => {
  const own = shop();
  const { response, session } = await begun(own);
  own.store.isDown = true;
  const reply = await post(own.handle, response, declined(session));
  assert.equal(reply.headers.get('retry-after'), '1');
  assert.deepEqual(await refusal(reply), [503, 'temporarily_unavailable']);
  assert.deepEqual(
    own.faults.map(({ message }) => message),
    ['down'],
  );
  own.store.isDown = false;
  assert.equal((await post(own.handle, response, declined(session))).status, 200);
});

test('a fault of this program is not the wallet’s', async () => {
  const own = shop();
  const { response, session } = await begun(own);
  own.store.load = () => 'not a session';
  assert.deepEqual(await refusal(await post(own.handle, response, declined(session))), [500, 'internal_error']);
  assert.equal(own.faults[0].name, 'TypeError');
  own.store.load = () => session;
  for (const [problem, ...expected] of [
    [new idgate.NotAvailable({ message: 'no descriptors' }), 503, 'temporarily_unavailable'],
    [new idgate.InternalError({ message: 'a fault' }), 500, 'internal_error'],
    [new idgate.Misconfigured({ why: 'no' }), 500, 'internal_error'],
  ]) {
    own.verifier.decide = async () => Promise.reject(problem);
    assert.deepEqual(await refusal(await post(own.handle, response, declined(session))), expected);
    assert.equal(own.faults.at(-1), problem);
  }
});

/** Starts a server with that listener. Returns its base URL. */
async function listening(t, listener) {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

test('node:http serves the same', async (t) => {
  const own = shop();
  const base = await listening(t, idgate.toNodeHandler(own.handle));
  const { response, session } = await begun(own);
  const headers = { 'content-type': FORM };
  const reply = await fetch(base + response, { method: 'POST', headers, body: declined(session) });
  assert.deepEqual([reply.status, await reply.json()], [200, {}]);
  assert.equal(reply.headers.get('cache-control'), 'no-store');
  assert.deepEqual(await refusal(await fetch(`${base}/elsewhere`)), [404, 'not_found']);
  assert.deepEqual(await refusal(await fetch(`${base}//`)), [404, 'not_found']);
  const head = await fetch(`${base}/.well-known/jwks.json`, { method: 'HEAD' });
  assert.equal(head.status, 200);
  const large = await fetch(base + (await begun(own)).response, { method: 'POST', headers, body: 'a'.repeat(2 ** 21) });
  assert.equal(large.status, 413);
});

test('Express serves the same, and other paths go to the next handler', async (t) => {
  const express = require('express');
  const own = shop();
  const app = express();
  app.use(idgate.toNodeHandler(own.handle));
  app.use(express.json());
  app.get('/mine', (_, response) => response.json({ mine: true }));
  const base = await listening(t, app);
  const { response, session } = await begun(own);
  const headers = { 'content-type': FORM };
  const reply = await fetch(base + response, { method: 'POST', headers, body: declined(session) });
  assert.deepEqual([reply.status, await reply.json()], [200, {}]);
  assert.deepEqual(await (await fetch(`${base}/mine`)).json(), { mine: true });
  assert.equal((await fetch(`${base}/other`)).status, 404);
});

test('a parsed body is an error, and a raw one is accepted', async (t) => {
  const express = require('express');
  const own = shop();
  const raw = await listening(t, express().use(express.raw({ type: () => true }), idgate.toNodeHandler(own.handle)));
  const first = await begun(own);
  const headers = { 'content-type': FORM };
  assert.equal(
    (await fetch(raw + first.response, { method: 'POST', headers, body: declined(first.session) })).status,
    200,
  );
  const told = [];
  const parsed = express().use(express.urlencoded(), idgate.toNodeHandler(own.handle));
  parsed.use((problem, _, response, __) => {
    told.push(problem.message);
    response.status(500).end();
  });
  const base = await listening(t, parsed);
  const second = await begun(own);
  const reply = await fetch(base + second.response, { method: 'POST', headers, body: declined(second.session) });
  assert.equal(reply.status, 500);
  assert.match(told[0], /request\.body is not bytes or text; put toNodeHandler before the body parsers/);
});

test('other paths keep the body that a parser read', async (t) => {
  const express = require('express');
  const app = express().use(express.json(), idgate.toNodeHandler(shop().handle));
  app.all('/mine', (request, response) => response.json({ method: request.method, body: request.body }));
  const base = await listening(t, app);
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(`${base}/mine`, { method: 'POST', headers, body: '{"a":1}' });
  assert.deepEqual(await reply.json(), { method: 'POST', body: { a: 1 } });
  assert.deepEqual(await (await traced(`${base}/mine`)).json(), { method: 'TRACE' });
});

test('a body that a parser left as text is accepted', async (t) => {
  const express = require('express');
  const own = shop();
  const base = await listening(t, express().use(express.text({ type: () => true }), idgate.toNodeHandler(own.handle)));
  const { response, session } = await begun(own);
  const headers = { 'content-type': FORM };
  const reply = await fetch(base + response, { method: 'POST', headers, body: declined(session) });
  assert.deepEqual([reply.status, await reply.json()], [200, {}]);
});

/** The reply to TRACE, which fetch does not send. */
async function traced(url) {
  const [reply] = await once(http.request(url, { method: 'TRACE' }).end(), 'response');
  const body = Buffer.concat(await reply.toArray());
  return new Response(body, { status: reply.statusCode, headers: reply.headers });
}

test('a method that fetch does not have is 405 as well', async (t) => {
  const express = require('express');
  const own = shop();
  const handler = idgate.toNodeHandler(own.handle);
  const { request, response } = await begun(own);
  for (const base of [await listening(t, handler), await listening(t, express().use(handler))]) {
    for (const [path, allow] of [
      [request, 'GET, POST'],
      [response, 'POST'],
      ['/.well-known/jwks.json', 'GET, HEAD'],
    ]) {
      const reply = await traced(base + path);
      assert.equal(reply.headers.get('allow'), allow);
      assert.deepEqual(await refusal(reply), [405, 'method_not_allowed']);
    }
  }
});

test('an invalid verifier or store is refused immediately', () => {
  const { verifier, store } = shop();
  assert.throws(() => idgate.wallets({}, store), TypeError);
  for (const wrong of [undefined, {}, { load() {} }, { commit() {} }]) {
    assert.throws(() => idgate.wallets(verifier, wrong), TypeError);
  }
  assert.throws(() => idgate.toNodeHandler(undefined), TypeError);
});

test('the package’s own replies are those of the crate', () => {
  const root = path.join(__dirname, '..', '..', '..');
  const sources = [
    'idgate/src/wallets.rs',
    'idgate/src/wallets/service.rs',
    'idgate-core/src/error/mod.rs',
    'idgate-core/src/reply.rs',
  ];
  const rust = sources.map((file) => fs.readFileSync(path.join(root, file), 'utf8')).join('\n');
  const own = ['wallets.js', 'errors.js', 'reply.js'].map((file) =>
    fs.readFileSync(path.join(root, 'bindings/node/src', file), 'utf8'),
  );
  const texts = own
    .join('\n')
    .match(/'(there is nothing|this path|the session (has|no)|the body|a fault of this|try again)[^']*'/g);
  assert.ok(texts.length >= 8, `${texts}`);
  for (const text of texts) assert.ok(rust.includes(`"${text.slice(1, -1)}"`), text);
});
