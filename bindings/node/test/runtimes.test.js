'use strict';
// The same cases in Bun and Deno, where `npm ci` in test/runtimes put them.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { PATIENCE_MS } = require('../../../tests/harness/patience.cjs');
const cases = require('./cases.js');

const RUNTIMES = path.join(__dirname, 'runtimes');
const PROGRAM = path.join(__dirname, 'runtime_cases.js');
const DENO = ['run', '--allow-all', '--no-lock', '--node-modules-dir=manual', PROGRAM];

for (const [name, parameters] of [
  ['bun', [PROGRAM]],
  ['deno', DENO],
]) {
  const runtime = path.join(RUNTIMES, 'node_modules', '.bin', name);
  const skip = !fs.existsSync(runtime) && `${name} is not installed: npm ci in test/runtimes`;
  test(`every case gives its outcome in ${name}`, { skip }, () => {
    const ran = spawnSync(runtime, parameters, { encoding: 'utf8', timeout: 2 * PATIENCE_MS });
    assert.equal(ran.status, 0, ran.stderr || String(ran.error));
    assert.equal(ran.stdout.trim(), `${cases.load().length} cases`);
  });
}
