'use strict';
// The shared fetcher of verifiers without their own.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { NotAvailable } = require('idgate');
const abi = require('../src/abi.js');
const { Source } = require('../src/fetcher.js');

test('making the shared fetcher is retried after a failure, and then it is made once', async (t) => {
  const made = t.mock.method(abi, 'runAsync');
  made.mock.mockImplementationOnce(async () => {
    throw new NotAvailable({ message: 'no roots' });
  });
  const source = new Source();
  const [first, other] = await Promise.allSettled([source.pointer(), source.pointer()]);
  assert.ok(first.reason instanceof NotAvailable && other.reason instanceof NotAvailable);
  const [pointer, same] = await Promise.all([source.pointer(), source.pointer()]);
  assert.ok(pointer);
  assert.equal(same, pointer);
  assert.equal(await new Source(true).pointer(), pointer, 'all verifiers have the same');
  assert.equal(source.pointerSync(), pointer, 'on this thread, too');
  assert.equal(made.mock.callCount(), 2);
});
