'use strict';
// Two copies of the package in one program, over one koffi.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const idgate = require('idgate');
const cases = require('./cases.js');

const SOURCES = path.join(__dirname, '..', 'src') + path.sep;
const SHOP = 'https://shop.example';

/** The package, loaded again as by another part of the program. */
function again() {
  for (const file of Object.keys(require.cache)) {
    if (file.startsWith(SOURCES)) delete require.cache[file];
  }
  return require('idgate');
}

test('a second copy of the package works like the first', () => {
  const one = cases.load().find(({ expected, content_type: type }) => expected.status === 'VERIFIED' && type);
  for (let copy = 0; copy < 2; copy += 1) {
    const other = again();
    assert.notEqual(other.Trust, idgate.Trust);
    const { publicKey } = require('node:crypto').generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const signer = other.Signer.external(SHOP, publicKey.export({ format: 'jwk' }), () => Buffer.alloc(64));
    const trust = new other.Trust(cases.issuersOf(one));
    const verifier = new other.Verifier(SHOP, trust, { profiles: ['draft'], signer });
    assert.equal(verifier.jwks().keys.length, 1);
    assert.throws(() => new other.Verifier(SHOP, new idgate.Trust([]), { profiles: ['1.0'] }), TypeError);
  }
  assert.deepEqual(cases.outcome(one), one.expected);
});
