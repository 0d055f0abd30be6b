'use strict';
// The library counts its objects in use. After each kind of work, the count is the same as before.

const assert = require('node:assert/strict');
const v8 = require('node:v8');
const vm = require('node:vm');
const { test } = require('node:test');
const idgate = require('idgate');
const abi = require('../src/abi.js');
const { candidates } = require('../src/library.js');
const { eventually } = require('../../../tests/harness/patience.cjs');
const { EXPECTED, FORM, answered, captured, trusting, verifierOf } = require('./status_wallet.js');

const inUse = abi.koffi.load(candidates()[0]).func('size_t idgate_in_use()');
v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');
const TIMES = 100;
const STATUS = [0, 'https://issuer.example/list'];
const CLOSED = { fetch: () => null };

/** Whether `work` released everything, directly or when its objects were collected. */
async function isGivenBack(work) {
  // The first call makes the objects that stay.
  await work();
  collect();
  await eventually('the objects of the first call are collected', () => settled());
  const before = Number(inUse());
  for (let time = 0; time < TIMES; time += 1) await work();
  await eventually('the number before returns', () => {
    collect();
    return Number(inUse()) <= before || undefined;
  });
}

let last = -1;
function settled() {
  collect();
  const now = Number(inUse());
  const isSame = now === last;
  last = now;
  return isSame || undefined;
}

test('a presentation leaves nothing in use, whatever its outcome', async () => {
  const trust = trusting();
  for (const presentation of ['x', captured(), captured(STATUS)]) {
    const before = Number(inUse());
    for (let time = 0; time < TIMES; time += 1) {
      trust.checkSync(presentation, EXPECTED, CLOSED);
      trust.checkSync(presentation, EXPECTED, { fetch: false });
      await trust.check(presentation, EXPECTED, CLOSED);
      await trust.check(presentation, EXPECTED, { fetch: false });
    }
    assert.equal(Number(inUse()), before);
  }
});

test('an answer leaves nothing in use once its objects are collected', async () => {
  const verifier = verifierOf(CLOSED);
  const store = { commit: () => true };
  await isGivenBack(async () => {
    await verifier.decide(...answered(verifier, [STATUS]), store);
    verifier.decideSync(...answered(verifier, [STATUS]), store);
    assert.throws(() => verifier.decideSync(...answered(verifier, [STATUS]), { commit: () => false }));
  });
});

test('POSTs of wallets leave nothing in use once the sessions are gone', async () => {
  const verifier = verifierOf();
  const sessions = new Map();
  const store = {
    load: (handle) => sessions.get(handle),
    commit: ({ session }) => sessions.set(session.id, session) && true,
  };
  const handle = idgate.wallets(verifier, store, CLOSED);
  await isGivenBack(async () => {
    const [session, { to, body }] = answered(verifier, [STATUS]);
    sessions.set(to, session);
    const init = { method: 'POST', headers: { 'content-type': FORM }, body };
    const reply = await handle(new Request(`https://gateway.example/v1/oid4vp/response/${to}`, init));
    assert.equal(reply.status, 400);
    sessions.clear();
  });
});
