'use strict';
// Every case, in any runtime: all on this thread, and some on worker threads.

const assert = require('node:assert/strict');
const cases = require('./cases.js');
const { Misconfigured, Trust, wallets } = require('idgate');

async function main() {
  const found = cases.load();
  for (const one of found) assert.deepEqual(cases.outcome(one), one.expected, one.title);
  const good = found.filter((one) => one.expected.status).slice(0, 40);
  const outcomes = await Promise.all(good.map((one) => cases.outcomeAsync(one)));
  good.forEach((one, index) => assert.deepEqual(outcomes[index], one.expected, one.title));
  const trust = new Trust([]);
  await trust[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
  assert.throws(
    () => trust.checkSync('x', { format: 'dc+sd-jwt', issuerId: 'i', clientId: 'c', nonce: 'n' }),
    TypeError,
  );
  assert.throws(() => new Trust([{ id: 'i', iacaRoots: 'x' }]), Misconfigured);
  // The types of fetch are this runtime's own.
  const handle = wallets(cases.verifierOf(good[0]), cases.STORE);
  const reply = await handle(new Request('https://gateway.example/v1/oid4vp/response/ses_0', { method: 'POST' }));
  assert.deepEqual([reply.status, (await reply.json()).error], [409, 'session_not_pending']);
  console.log(`${found.length} cases`);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
