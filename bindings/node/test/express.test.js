'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const cases = require('./cases.js');

async function start(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'idgate-express-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const jwk = path.join(folder, 'issuer.jwk.json');
  fs.writeFileSync(jwk, JSON.stringify(cases.load()[0].trust[0].jwks[0]));
  const example = path.join(__dirname, '..', 'examples', 'express.js');
  const env = { ...process.env, IDGATE_ISSUER_JWK: jwk, PORT: '0', BASE_URL: 'http://127.0.0.1:1' };
  const server = spawn(process.execPath, [example], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => server.kill());
  const [line] = await new Promise((resolve) => server.stdout.once('data', (data) => resolve([`${data}`])));
  return line.trim().split(' ').at(-1);
}

// A check, the session as whoever sees the QR code reads it, and the browser's cookie.
async function makeCheck(base) {
  const response = await fetch(`${base}/checks`, { method: 'POST' });
  const made = await response.json();
  assert.ok(made.qr_code_url.startsWith('openid4vp://?'));
  const sessionId = new URL(made.qr_code_url).searchParams.get('response_uri').split('/').at(-1);
  const [cookie] = response.headers.get('set-cookie').split(';');
  return { id: made.id, sessionId, cookie };
}

test('the Express example makes a check and refuses bad answers', async (t) => {
  const base = await start(t);
  const post = (where, options) => fetch(base + where, { method: 'POST', ...options });
  const { id, sessionId, cookie } = await makeCheck(base);
  const answer = `/v1/oid4vp/response/${sessionId}`;
  const empty = await post(answer);
  assert.deepEqual([empty.status, (await empty.json()).error], [400, 'invalid_response']);
  const wrong = new URLSearchParams({ state: 'wrong', error: 'access_denied' });
  assert.equal((await (await post(answer, { body: wrong })).json()).error, 'state_mismatch');
  assert.equal((await post('/v1/oid4vp/response/ses_x', { body: wrong })).status, 409);
  const read = await (await fetch(`${base}/checks/${id}`, { headers: { cookie } })).json();
  assert.equal(read.status, 'PENDING');
});

test('what the QR code says opens nothing in the Express example', async (t) => {
  const base = await start(t);
  const { id, sessionId, cookie } = await makeCheck(base);
  const other = await makeCheck(base);
  const status = async (which, headers) => (await fetch(`${base}/checks/${which}`, { headers })).status;
  assert.notEqual(sessionId, id);
  assert.equal(await status(id, { cookie }), 200);
  assert.equal(await status(sessionId, { cookie }), 404);
  assert.equal(await status(sessionId, {}), 404);
  for (const foreign of [{}, { cookie: 'browser=' }, { cookie: other.cookie }]) {
    assert.equal(await status(id, foreign), 404, JSON.stringify(foreign));
  }
});
