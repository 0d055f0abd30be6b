// Tests every vector.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { verify, verifyStandard } from './verify.mjs';

const { vectors } = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8'));

test('there are vectors', () => assert.ok(vectors.length > 20));

for (const { title, secret, body, headers, now_ms: now, own, standard } of vectors) {
  test(title, () => {
    const bytes = Buffer.from(body);
    const timestamp = headers['X-Timestamp'];
    assert.equal(verify(secret, bytes, timestamp, headers['X-Signature'], now), own);
    const values = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((n) => headers[n]);
    assert.equal(verifyStandard(secret, bytes, ...values, now), standard);
  });
}

test('a header that is not there is no signature', () => {
  const [{ secret, body, headers, now_ms: now }] = vectors;
  assert.equal(verify(secret, Buffer.from(body), headers['X-Timestamp'], undefined, now), false);
  assert.equal(verify(secret, Buffer.from(body), undefined, headers['X-Signature'], now), false);
});
