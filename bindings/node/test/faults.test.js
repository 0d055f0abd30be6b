'use strict';
// The replies to wallets after a fault of this machine, by the example and by the program of docs/node.md.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const crypto = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { freePort } = require('../../../tests/harness/patience.cjs');
const { launch } = require('./age_shop.js');

const PAGE = path.join(__dirname, '..', '..', '..', 'docs', 'node.md');
const { publicKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ISSUER_JWK = publicKey.export({ format: 'jwk' });
const FAULTS = [
  ['NotAvailable', 503, 'temporarily_unavailable', '1'],
  ...['Misconfigured', 'TypeError', 'InternalError'].map((kind) => [kind, 500, 'internal_error', null]),
];
const failing = (kind) => ({ FAULT: kind, NODE_OPTIONS: `--require "${path.join(__dirname, 'fault.js')}"` });

async function told(response) {
  return [response.status, (await response.json()).error, response.headers.get('retry-after')];
}

/** The answer of a wallet that declines, by the link. */
function decline(link) {
  const request = new URL(link).searchParams;
  const body = new URLSearchParams({ state: request.get('state'), error: 'access_denied' });
  return fetch(request.get('response_uri'), { method: 'POST', body });
}

for (const [kind, ...expected] of FAULTS) {
  test(`the Express example tells ${kind} as ${expected[0]}, and nobody that the answer is wrong`, async (t) => {
    const base = await launch(t, ISSUER_JWK, 'express', failing(kind));
    const begun = await fetch(`${base}/age`, { method: 'POST', headers: { origin: base } });
    const { id, link } = await begun.json();
    assert.deepEqual(await told(await decline(link)), expected);
    const [cookie] = begun.headers.get('set-cookie').split(';');
    const body = JSON.stringify({ protocol: 'openid4vp-v1-unsigned', data: { error: 'access_denied' } });
    const relayed = await fetch(`${base}/age/${id}/dc-api`, {
      method: 'POST',
      headers: { origin: base, cookie },
      body,
    });
    assert.deepEqual(await told(relayed), expected);
  });

  test(`the program of docs/node.md tells ${kind} as ${expected[0]}`, async (t) => {
    const [, program] = /```js\n(\/\/ ask\.mjs\n.*?)```/s.exec(fs.readFileSync(PAGE, 'utf8'));
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'idgate-ask-'));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    fs.mkdirSync(path.join(folder, 'node_modules'));
    fs.symlinkSync(path.join(__dirname, '..'), path.join(folder, 'node_modules', 'idgate'));
    const file = path.join(folder, 'ask.mjs');
    fs.writeFileSync(file, program.replaceAll('3000', `${await freePort()}`));
    const env = { ...process.env, ...failing(kind) };
    const server = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    t.after(() => server.kill());
    const [link] = await once(server.stdout.setEncoding('utf8'), 'data');
    assert.deepEqual(await told(await decline(link.trim())), expected);
  });
}
