'use strict';
// The fetcher of the verifiers that were given none.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const abi = require('../src/abi.js');
const { Lazy } = require('../src/fetcher.js');

test('a fetcher that could not be made is made for whoever comes next, and then once', async (t) => {
  const made = t.mock.method(abi, 'callAsync');
  made.mock.mockImplementationOnce(async () => {
    throw Object.assign(new Error('no roots'), { kind: 'unavailable' });
  });
  const lazy = new Lazy();
  const [first, beside] = await Promise.allSettled([lazy.pointer(), lazy.pointer()]);
  assert.deepEqual([first.reason.kind, beside.reason.kind], ['unavailable', 'unavailable']);
  const pointer = await lazy.pointer();
  assert.ok(pointer);
  assert.equal(await lazy.pointer(), pointer);
  assert.equal(await new Lazy(true).pointer(), pointer, 'all verifiers have the same');
  assert.equal(made.mock.callCount(), 2);
});
