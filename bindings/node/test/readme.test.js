'use strict';
// The first example of README.md, run unchanged.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const PARTS = /^(.*)(\/\/ POST \/age\/\{ownId\}\/dc-api.*)(\/\/ GET \/age\/\{ownId\}.*)$/s;
const AsyncFunction = (async () => {}).constructor;

/** The code for POST /age, and the addresses that a browser and a page request. */
function firstExample() {
  const text = fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8');
  const [, code] = /```js\n(.*?)```/s.exec(text);
  return PARTS.exec(code.replace(/^import .*\n/gm, '')).slice(1);
}

const run = (code, world) => new AsyncFunction(...Object.keys(world), code)(...Object.values(world));

test('the first example of the README goes from the button to the boolean', async () => {
  const one = cases.load().find(({ title }) => title.includes('org-iso-mdoc'));
  const root = cases.decode(one.trust.find(({ roots }) => roots).roots[0]);
  const [begin, relay, outcome] = firstExample();
  const told = [];
  const world = {
    Trust: idgate.Trust,
    Verifier: idgate.Verifier,
    fs: { readFileSync: () => root },
    ownId: 'own',
    answerWith: (answer) => told.push(answer),
    store: { commit: () => true },
  };
  const { verifier, made } = await run(`${begin}\nreturn { verifier, made };`, world);
  const declined = { protocol: 'openid4vp-v1-unsigned', data: { error: 'access_denied' } };
  const asked = { ...world, verifier, session: made.session, requestBody: JSON.stringify(declined) };
  const decision = await run(`${relay}\nreturn decision;`, asked);
  for (const { session } of [made, decision.transition]) await run(outcome, { ...world, session });
  const [{ id, link, dc_api }, early, answered] = told;
  assert.equal(id, 'own');
  assert.match(link, /^openid4vp:\/\/\?/);
  assert.deepEqual(
    dc_api.requests.map(({ protocol }) => protocol),
    ['openid4vp-v1-unsigned', 'org-iso-mdoc'],
  );
  assert.deepEqual(early, { error: 'no_answer_yet' });
  assert.deepEqual(answered, { adult: false });
});
