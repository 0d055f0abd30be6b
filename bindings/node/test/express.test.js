'use strict';
// The Express example, used by its page, by wallets and by strangers.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Machine } = require('../../../tests/harness/machine.cjs');
const { eventually } = require('../../../tests/harness/patience.cjs');
const { UNSIGNED, answerLink, askBrowser, start } = require('./age_shop.js');

// Shorter than the 300 seconds in which a session accepts answers, so that checks are dropped before sessions expire.
const CHECK_SECONDS = 200;

/** The first request of `idgate.js`; the cookie is the browser's. */
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

/** The session in the link, which everyone who sees the link can read. */
const sessionOf = ({ link }) => new URL(link).searchParams.get('response_uri').split('/').at(-1);

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

test('the page runs only its own scripts, and cannot be framed', async (t) => {
  const { base } = await start(t);
  for (const path of ['/', '/age.css', '/age.js', '/idgate.js']) {
    const { headers } = await fetch(`${base}${path}`);
    const policy = headers.get('content-security-policy').split('; ');
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
      assert.ok(policy.includes(part), path);
    }
    assert.equal(headers.get('permissions-policy'), 'digital-credentials-get=(self)');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('x-powered-by'), null);
  }
});

test('the store is limited, and drops expired checks', async (t) => {
  const machine = new Machine();
  t.after(() => machine.remove());
  const settings = { MAX_CHECKS: '2', CHECK_SECONDS: `${CHECK_SECONDS}`, ...machine.environment };
  const { base, hold, wallet } = await start(t, 'express', settings);
  const first = await begin(base);
  await begin(base);
  const third = await fetch(`${base}/age`, { method: 'POST', headers: { origin: base } });
  assert.equal(third.status, 503);
  assert.ok(third.headers.get('retry-after'));
  assert.equal((await get(`${base}/age/${first.id}`, first.cookie)).status, 409);
  machine.jump(CHECK_SECONDS * 1000);
  // The shop closes idle connections, and the client keeps several. A request may meet a closing connection, and is
  // then sent again.
  const sent = (request) =>
    eventually('the shop is asked', () => request().catch((error) => assert.ok(error instanceof TypeError, error)));
  await sent(() => begin(base));
  assert.equal((await sent(() => get(`${base}/age/${first.id}`, first.cookie))).status, 404);
  const shown = await hold(true);
  assert.equal((await sent(() => answerLink(first, wallet, shown))).status, 409);
});

test('errors are reported without a stack', async (t) => {
  const { base } = await start(t);
  const check = await begin(base);
  const body = ' '.repeat(1024 * 1024 + 1);
  for (const path of [`/age/${check.id}/dc-api`, `/v1/oid4vp/response/${sessionOf(check)}`]) {
    const headers = { origin: base, cookie: check.cookie };
    const large = await fetch(`${base}${path}`, { method: 'POST', headers, body });
    assert.deepEqual([large.status, (await large.json()).error], [413, 'payload_too_large']);
  }
  const broken = await fetch(`${base}/age/%ff`);
  assert.deepEqual([broken.status, await broken.json()], [400, { error: 'invalid_request' }]);
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
    const answered = await askBrowser(check.dc_api, base, wallet, await hold(adult));
    assert.equal((await relay(base, check, answered)).status, 200);
    assert.deepEqual(await outcome(base, check), { adult });
    // The other answer was faster, so the page asks for the outcome.
    assert.equal((await relay(base, check, answered)).status, 200);
    assert.deepEqual(await outcome(base, check), { adult });
  }
});

test('another browser gets nothing with the link', async (t) => {
  const { base, hold, wallet } = await start(t);
  const check = await begin(base);
  const other = await begin(base);
  const answered = await askBrowser(check.dc_api, base, wallet, await hold(true));
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

test('a page of another origin can neither begin nor answer, and a copied page is refused', async (t) => {
  const { base, hold, wallet } = await start(t);
  const evil = 'https://evil.example';
  for (const headers of [{}, { origin: evil }, { origin: 'null' }]) {
    assert.equal((await fetch(`${base}/age`, { method: 'POST', headers })).status, 403);
  }
  const check = await begin(base);
  const copied = await askBrowser(check.dc_api, evil, wallet, await hold(true));
  const foreign = await relay(base, check, copied, { origin: evil, cookie: check.cookie });
  assert.equal(foreign.status, 403);
  assert.equal((await relay(base, check, copied)).status, 200);
  assert.deepEqual(await outcome(base, check), { adult: false });
});

test('an invalid answer changes nothing, and a refused answer is a no', async (t) => {
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

test('a person who declines is not of age', async (t) => {
  const { base } = await start(t);
  const check = await begin(base);
  const declined = { protocol: UNSIGNED, data: { error: 'access_denied' } };
  assert.equal((await relay(base, check, declined)).status, 200);
  assert.deepEqual(await outcome(base, check), { adult: false });
});
