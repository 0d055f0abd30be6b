'use strict';
// Waits of JavaScript tests: always for an event, never for a time. The cap ends only a test that hangs.

const net = require('node:net');
const { once } = require('node:events');

/** A minute, times the whole number in `IDGATE_TEST_PATIENCE`. No verdict depends on it. */
const PATIENCE_MS = 60_000 * (Number.parseInt(process.env.IDGATE_TEST_PATIENCE, 10) || 1);

/** Waits until `look` returns something, and returns it. */
async function eventually(what, look) {
  // reason: the cap, which only a hang reaches
  const deadline = performance.now() + PATIENCE_MS;
  for (let pause = 1; ; pause = Math.min(2 * pause, 50)) {
    const found = await look();
    if (found) return found;
    // reason: the cap, which only a hang reaches
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
    // reason: the pause between two looks; the test waits for the event
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** The value of `promise`, or an error if it never settles. */
async function within(what, promise) {
  let timer;
  const never = new Promise((_, reject) => {
    // reason: the cap, which only a hang reaches
    timer = setTimeout(() => reject(new Error(`never: ${what}`)), PATIENCE_MS);
  });
  return Promise.race([promise, never]).finally(() => clearTimeout(timer));
}

/** A port for a program that needs one in advance. The kernel assigns it to no other socket: it is below its range. */
async function freePort() {
  for (;;) {
    const server = net.createServer().listen(20_000 + Math.floor(12_000 * Math.random()), '127.0.0.1');
    const port = await once(server, 'listening').then(() => server.address().port, () => undefined);
    if (port === undefined) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

module.exports = { PATIENCE_MS, eventually, freePort, within };
