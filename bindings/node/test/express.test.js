'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const cases = require('./cases.js');

test('the Express example makes a check and refuses bad answers', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'idgate-express-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const jwk = path.join(folder, 'issuer.jwk.json');
  fs.writeFileSync(jwk, JSON.stringify(cases.load()[0].trust[0].jwks[0]));
  const example = path.join(__dirname, '..', 'examples', 'express.js');
  const env = { ...process.env, IDGATE_ISSUER_JWK: jwk, PORT: '0', BASE_URL: 'http://127.0.0.1:1' };
  const server = spawn(process.execPath, [example], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => server.kill());
  const [line] = await new Promise((resolve) => server.stdout.once('data', (data) => resolve([`${data}`])));
  const base = line.trim().split(' ').at(-1);
  const post = (where, options) => fetch(base + where, { method: 'POST', ...options });

  const made = await (await post('/checks')).json();
  assert.ok(made.qr_code_url.startsWith('openid4vp://?'));
  const answer = `/v1/oid4vp/response/${made.id}`;
  const empty = await post(answer);
  assert.deepEqual([empty.status, (await empty.json()).error], [400, 'invalid_response']);
  const wrong = new URLSearchParams({ state: 'wrong', error: 'access_denied' });
  assert.equal((await (await post(answer, { body: wrong })).json()).error, 'state_mismatch');
  assert.equal((await post('/v1/oid4vp/response/ses_x', { body: wrong })).status, 409);
  const read = await (await fetch(`${base}/checks/${made.id}`)).json();
  assert.equal(read.status, 'PENDING');
});
