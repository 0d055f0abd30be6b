'use strict';
// The Express example while a status list is fetched.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const path = require('node:path');
const { test } = require('node:test');
const zlib = require('node:zlib');
const { launch } = require('./age_shop.js');
const { b64, issuer, jwt, presentation, seconds } = require('./status_wallet.js');

const REACHING = { NODE_OPTIONS: `--require "${path.join(__dirname, 'reaching.js')}"` };

test('the Express example has no outcome while a status list is fetched', async (t) => {
  const list = http.createServer().listen(0, '127.0.0.1');
  await once(list, 'listening');
  t.after(() => list.close());
  const uri = `http://127.0.0.1:${list.address().port}/list`;
  const base = await launch(t, issuer.publicKey.export({ format: 'jwk' }), 'express', REACHING);
  const begun = await fetch(`${base}/age`, { method: 'POST', headers: { origin: base } });
  const { id, link } = await begun.json();
  const headers = { cookie: begun.headers.get('set-cookie').split(';')[0] };
  const outcome = async () => {
    const reply = await fetch(`${base}/age/${id}`, { headers });
    return [reply.status, await reply.json()];
  };
  const events = (await fetch(`${base}/age/${id}/events`, { headers })).body.pipeThrough(new TextDecoderStream());
  const reader = events.getReader();
  const next = async () => (await reader.read()).value;
  assert.match(await next(), /PENDING/);
  const request = new URL(link).searchParams;
  const shown = presentation('urn:eudi:pid:1', [0, uri], request, { age_equal_or_over: { 18: true } });
  const body = new URLSearchParams({ state: request.get('state'), vp_token: JSON.stringify({ pid: [shown] }) });
  const answered = fetch(request.get('response_uri'), { method: 'POST', body });
  const [, fetching] = await once(list, 'request');
  assert.match(await next(), /VERIFYING/);
  assert.deepEqual(await outcome(), [409, { error: 'no_answer_yet' }]);
  const lst = b64(zlib.deflateSync(Buffer.alloc(2)));
  fetching.end(jwt(issuer, 'statuslist+jwt', { sub: uri, iat: seconds(), ttl: 3600, status_list: { bits: 2, lst } }));
  assert.equal((await answered).status, 200);
  assert.match(await next(), /VERIFIED/);
  assert.deepEqual(await outcome(), [200, { adult: true }]);
  await reader.cancel();
});
