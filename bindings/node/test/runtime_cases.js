'use strict';
// Every case, in whichever runtime this is: the outcomes at once, and of some on worker threads.

const assert = require('node:assert/strict');
const cases = require('./cases.js');
const { IdgateError, Trust } = require('idgate');

async function main() {
  const found = cases.load();
  for (const one of found) assert.deepEqual(cases.outcome(one), one.expected, one.title);
  const good = found.filter((one) => one.expected.status).slice(0, 40);
  const outcomes = await Promise.all(good.map((one) => cases.outcomeAsync(one)));
  good.forEach((one, index) => assert.deepEqual(outcomes[index], one.expected, one.title));
  const trust = new Trust();
  await trust[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
  assert.throws(() => trust.addIssuer('i'), IdgateError);
  console.log(`${found.length} cases`);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
