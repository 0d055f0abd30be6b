'use strict';
// The Express example, asked as the page, wallets and strangers ask it. Its wallet is tests/wallets/node.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { test } = require('node:test');

const WALLETS = path.join(__dirname, '..', '..', '..', 'tests', 'wallets', 'node');
const EXAMPLE = path.join(__dirname, '..', 'examples', 'express.js');
const UNSIGNED = 'openid4vp-v1-unsigned';

/** The shop with its issuer, and a wallet of somebody who is of age, or is not. */
async function start(t) {
  const [{ Issuer }, { Wallet }] = await Promise.all([load('issuer.js'), load('wallet.js')]);
  const issuer = await Issuer.create({ issuerId: 'https://issuer.example', vct: 'urn:eudi:pid:1' });
  const wallet = await Wallet.create();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'idgate-express-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const jwk = path.join(folder, 'issuer.jwk.json');
  fs.writeFileSync(jwk, JSON.stringify(issuer.publicJwk));
  const port = `${await freePort()}`;
  const env = { ...process.env, IDGATE_ISSUER_JWK: jwk, PORT: port };
  delete env.BASE_URL;
  const server = spawn(process.execPath, [EXAMPLE], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => server.kill());
  const [line] = await once(server.stdout, 'data');
  const base = `${line}`.trim().split(' ').at(-1);
  const hold = (age) => {
    const claims = { given_name: 'Erika', age_equal_or_over: { 18: age } };
    return issuer.issue(wallet, claims, { _sd: ['given_name'], age_equal_or_over: { _sd: ['18'] } });
  };
  return { base, hold, wallet };
}

const load = (file) => import(path.join(WALLETS, file));

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** What `idgate.js` does first; the cookie is the browser's. */
async function begin(base) {
  const response = await fetch(`${base}/age`, { method: 'POST', headers: { origin: base } });
  assert.equal(response.status, 201);
  const [cookie] = response.headers.get('set-cookie').split(';');
  return { ...(await response.json()), cookie };
}

const get = (url, cookie) => fetch(url, { headers: cookie ? { cookie } : {} });

async function outcome(base, { id, cookie }) {
  return (await get(`${base}/age/${id}`, cookie)).json();
}

/** The session as whoever sees the link reads it. */
const sessionOf = ({ link }) => new URL(link).searchParams.get('response_uri').split('/').at(-1);

/** A wallet follows the link and posts its answer. */
async function answerLink({ link }, wallet, credential, changes) {
  const { queries, resolve, selected, send } = await load('dcql-wallet.js');
  const request = await resolve(link);
  const [query] = queries(request);
  const presented = await wallet.present(credential, selected(query), request, changes);
  return send(request, { vp_token: { [query.id]: [presented] } });
}

/** What the browser of a page from `origin` gives it. */
async function askBrowser({ dc_api: { requests } }, origin, wallet, credential) {
  const [{ queries, selected }, { browserRequest, encrypt }] = await Promise.all([
    load('dcql-wallet.js'),
    load('jar-wallet.js'),
  ]);
  const { data } = requests.find(({ protocol }) => protocol === UNSIGNED);
  const request = await browserRequest(data, origin);
  const { nonce, client_metadata: metadata } = request.authorizationRequestPayload;
  const [query] = queries(request);
  const binding = { aud: `origin:${origin}`, nonce };
  const presented = await wallet.present(credential, selected(query), request, binding);
  const [enc] = metadata.encrypted_response_enc_values_supported;
  const response = await encrypt(request, { vp_token: { [query.id]: [presented] } }, enc, origin);
  return { protocol: UNSIGNED, data: { response } };
}

function relay(base, { id, cookie }, answer, headers = { origin: base, cookie }) {
  return fetch(`${base}/age/${id}/dc-api`, { method: 'POST', headers, body: JSON.stringify(answer) });
}

test('the Express example serves the page with the button, and the module that it asks with', async (t) => {
  const { base } = await start(t);
  assert.match(await (await fetch(base)).text(), /I am 18 or older/);
  const module = await fetch(`${base}/idgate.js`);
  assert.match(module.headers.get('content-type'), /javascript/);
  assert.match(await module.text(), /export async function verify/);
});

test('by the link, from the button to the boolean', async (t) => {
  const { base, hold, wallet } = await start(t);
  for (const adult of [true, false]) {
    const check = await begin(base);
    const events = await get(`${base}/age/${check.id}/events`, check.cookie);
    assert.match(events.headers.get('content-type'), /event-stream/);
    const told = events.text();
    assert.equal((await get(`${base}/age/${check.id}`, check.cookie)).status, 409);
    assert.equal((await answerLink(check, wallet, await hold(adult))).status, 200);
    const lines = (await told).split('\n').filter(Boolean);
    const statuses = ['PENDING', 'VERIFIED'].map((status) => `data: {"status":"${status}"}`);
    assert.deepEqual(lines, [...statuses, 'event: end', 'data: {}']);
    assert.deepEqual(await outcome(base, check), { adult });
  }
});

test('by the browser’s dialogue, from the button to the boolean', async (t) => {
  const { base, hold, wallet } = await start(t);
  for (const adult of [true, false]) {
    const check = await begin(base);
    const answered = await askBrowser(check, base, wallet, await hold(adult));
    assert.equal((await relay(base, check, answered)).status, 200);
    assert.deepEqual(await outcome(base, check), { adult });
    // It was faster: the page asks for the outcome.
    assert.equal((await relay(base, check, answered)).status, 200);
    assert.deepEqual(await outcome(base, check), { adult });
  }
});

test('another browser gets nothing, whatever of the link it knows', async (t) => {
  const { base, hold, wallet } = await start(t);
  const check = await begin(base);
  const other = await begin(base);
  const answered = await askBrowser(check, base, wallet, await hold(true));
  const strangers = [undefined, 'age=', `age=${check.id}`, `age=${sessionOf(check)}`, other.cookie];
  const assertNothing = async () => {
    for (const cookie of strangers) {
      for (const path of [check.id, `${check.id}/events`, sessionOf(check)]) {
        assert.equal((await get(`${base}/age/${path}`, cookie)).status, 404, `${path} with ${cookie}`);
      }
      const headers = { origin: base, ...(cookie && { cookie }) };
      assert.equal((await relay(base, check, answered, headers)).status, 404, cookie);
    }
    assert.equal((await get(`${base}/age/${sessionOf(check)}`, check.cookie)).status, 404);
  };
  assert.notEqual(sessionOf(check), check.id);
  await assertNothing();
  assert.equal((await answerLink(check, wallet, await hold(true))).status, 200);
  await assertNothing();
  assert.deepEqual(await outcome(base, check), { adult: true });
  assert.equal((await get(`${base}/age/${other.id}`, other.cookie)).status, 409);
});

test('a page of another origin can neither begin nor answer, and a copied page proves nothing', async (t) => {
  const { base, hold, wallet } = await start(t);
  const evil = 'https://evil.example';
  for (const headers of [{}, { origin: evil }, { origin: 'null' }]) {
    assert.equal((await fetch(`${base}/age`, { method: 'POST', headers })).status, 403);
  }
  const check = await begin(base);
  const copied = await askBrowser(check, evil, wallet, await hold(true));
  const foreign = await relay(base, check, copied, { origin: evil, cookie: check.cookie });
  assert.equal(foreign.status, 403);
  assert.equal((await relay(base, check, copied)).status, 200);
  assert.deepEqual(await outcome(base, check), { adult: false });
});

test('what is no answer changes nothing, and what does not verify is no', async (t) => {
  const { base, hold, wallet } = await start(t);
  const check = await begin(base);
  const post = (id, body) => fetch(`${base}/v1/oid4vp/response/${id}`, { method: 'POST', body });
  const empty = await post(sessionOf(check));
  assert.deepEqual([empty.status, (await empty.json()).error], [400, 'invalid_response']);
  const wrong = new URLSearchParams({ state: 'wrong', error: 'access_denied' });
  assert.equal((await (await post(sessionOf(check), wrong)).json()).error, 'state_mismatch');
  assert.equal((await post('ses_x', wrong)).status, 409);
  const rubbish = await relay(base, check, {});
  assert.deepEqual([rubbish.status, (await rubbish.json()).error], [400, 'invalid_response']);
  assert.equal((await get(`${base}/age/${check.id}`, check.cookie)).status, 409);
  const replayed = await answerLink(check, wallet, await hold(true), { nonce: 'of-another-session' });
  assert.deepEqual([replayed.status, replayed.body.error], [400, 'invalid_presentation']);
  assert.deepEqual(await outcome(base, check), { adult: false });
});

test('who declines is not shown to be of age', async (t) => {
  const { base } = await start(t);
  const check = await begin(base);
  const declined = { protocol: UNSIGNED, data: { error: 'access_denied' } };
  assert.equal((await relay(base, check, declined)).status, 200);
  assert.deepEqual(await outcome(base, check), { adult: false });
});
