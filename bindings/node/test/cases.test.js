'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const cases = require('./cases.js');

test('every case gives its outcome', () => {
  const found = cases.load();
  assert.ok(found.length >= 20);
  for (const one of found) {
    assert.deepEqual(cases.outcome(one), one.expected, one.title);
  }
});

test('worker threads decide the same', async () => {
  const good = cases.load().filter((one) => one.expected.status);
  const outcomes = await Promise.all(good.map((one) => cases.outcomeAsync(one)));
  good.forEach((one, index) => assert.deepEqual(outcomes[index], one.expected, one.title));
});
