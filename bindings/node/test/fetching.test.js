'use strict';
// Status lists that the package fetches itself: a wallet's answer, and sources on real sockets.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { test } = require('node:test');
const zlib = require('node:zlib');
const idgate = require('idgate');
const abi = require(path.join(path.dirname(require.resolve('idgate')), 'abi.js'));
const cases = require('./cases.js');
const { EXPECTED, answered, b64, captured, issuer, jwt, seconds, trusting, verifierOf } = require('./status_wallet.js');

const LOCAL = ['127.0.0.0/8'];
/** A status list on loopback: revoked at 1. It answers after `before`. */
async function source(t, before = async () => {}) {
  const made = { asked: 0 };
  const server = http.createServer(async (_, response) => {
    made.asked += 1;
    await before();
    response.end(made.token());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  made.url = `http://127.0.0.1:${server.address().port}/list`;
  const lst = b64(zlib.deflateSync(Buffer.from([0b0000_0100, 0])));
  made.token = () =>
    jwt(issuer, 'statuslist+jwt', { sub: made.url, iat: seconds(), ttl: 3600, status_list: { bits: 2, lst } });
  return made;
}

/** The outcome of such an answer, and the committed statuses on the way. */
async function decide(verifier, statuses, fetch) {
  const { store, committed } = keeping();
  const { reason = null } = await verifier.decide(...answered(verifier, statuses), store, { fetch });
  return [reason, committed.slice(0, -1)];
}

/** A store that accepts everything, and its statuses. */
function keeping() {
  const committed = [];
  return { committed, store: { commit: ({ session }) => committed.push(session.info().status) > 0 } };
}

test('the list decides, and a fresh copy needs neither a hold nor a fetch', async (t) => {
  const [list, fetch] = [await source(t), new idgate.Fetcher({ allow: LOCAL })];
  const verifier = verifierOf({ fetch });
  assert.deepEqual(await decide(verifier, [[0, list.url]]), [null, ['VERIFYING']]);
  assert.deepEqual(await decide(verifier, [[0, list.url]]), [null, []]);
  assert.deepEqual(await decide(verifier, [[1, list.url]]), ['credential_revoked', []]);
  assert.equal(list.asked, 1);
  // Another verifier has another trust, so its copies are separate.
  assert.deepEqual(await decide(verifierOf({ fetch }), [[0, list.url]]), [null, ['VERIFYING']]);
  assert.equal(list.asked, 2);
});

test('two lists are asked before either answers', async (t) => {
  let both;
  const met = new Promise((resolve) => (both = resolve));
  let asked = 0;
  const before = () => {
    asked += 1;
    if (asked === 2) both();
    return met;
  };
  const lists = [await source(t, before), await source(t, before)];
  const verifier = verifierOf({ fetch: new idgate.Fetcher({ allow: LOCAL }) });
  const statuses = lists.map(({ url }) => [0, url]);
  assert.deepEqual(await decide(verifier, statuses), [null, ['VERIFYING']]);
});

test('private addresses are not reached unless allowed', async (t) => {
  const list = await source(t);
  for (const fetch of [undefined, true, new idgate.Fetcher(), new idgate.Fetcher({ allow: ['10.0.0.0/8'] })]) {
    const [reason] = await decide(verifierOf({ fetch }), [[0, list.url]]);
    assert.equal(reason, 'revocation_unknown');
  }
  const [byName] = await decide(verifierOf(), [[0, list.url.replace('127.0.0.1', 'localhost')]]);
  assert.equal(byName, 'revocation_unknown');
  assert.equal(list.asked, 0);
});

test('without a fetcher nothing is asked, and a fetch of your own takes its place', async (t) => {
  const list = await source(t);
  const off = verifierOf({ fetch: false });
  assert.equal((await decide(off, [[0, list.url]]))[0], 'revocation_unknown');
  const verifier = verifierOf({ fetch: new idgate.Fetcher({ allow: LOCAL }) });
  for (const one of [off, verifier]) {
    assert.equal((await decide(one, [[0, list.url]], () => Buffer.from(list.token())))[0], null);
  }
  assert.equal(list.asked, 0);
});

test('silent sources do not delay verifications that need no source', async (t) => {
  const silent = net.createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const verifier = verifierOf({ fetch: new idgate.Fetcher({ allow: LOCAL }) });
  const one = cases.load().find(({ expected }) => expected.status === 'VERIFIED');
  // A delayed verification never ends first. On a slow machine the sources may time out before, so there is a retry.
  let isFirst = false;
  for (let tries = 0; !isFirst && tries < 10; tries += 1) {
    const url = `http://127.0.0.1:${silent.address().port}/${tries}/`;
    let ended = 0;
    // More than there are worker threads.
    const held = Array.from({ length: 8 }, (_, at) => decide(verifier, [[0, url + at]]).finally(() => (ended += 1)));
    assert.deepEqual(await cases.outcomeAsync(one), one.expected);
    isFirst = ended === 0;
    for (const [reason] of await Promise.all(held)) assert.equal(reason, 'revocation_unknown');
  }
  assert.ok(isFirst);
});

/** The commits until an answer failed with `expected`. */
async function failing(verifier, url, expected, options) {
  const { store, committed } = keeping();
  await assert.rejects(verifier.decide(...answered(verifier, [[0, url]]), store, options), expected);
  return committed;
}

test('the same list decides on this thread', async (t) => {
  const list = await source(t);
  const verifier = verifierOf({ fetch: new idgate.Fetcher({ allow: LOCAL }) });
  // The list is cached now. A source within this process could not answer while the thread waits.
  await decide(verifier, [[0, list.url]]);
  for (const [index, expected] of [
    [0, null],
    [1, 'credential_revoked'],
  ]) {
    const { store, committed } = keeping();
    const { reason = null } = verifier.decideSync(...answered(verifier, [[index, list.url]]), store);
    assert.deepEqual([reason, committed.length], [expected, 1]);
  }
  const own = { fetch: () => Buffer.from(list.token()) };
  for (const other of [verifierOf(), verifierOf({ fetch: false })]) {
    const { store, committed } = keeping();
    assert.equal(other.decideSync(...answered(other, [[0, list.url]]), store, own).reply, 'accepted');
    assert.deepEqual(committed, ['VERIFYING', 'VERIFIED']);
  }
  assert.equal(list.asked, 1);
});

test('the list decides about one presentation, too', async (t) => {
  const [list, fetch, trust] = [await source(t), new idgate.Fetcher({ allow: LOCAL }), trusting()];
  const good = await trust.verify(captured([0, list.url]), EXPECTED, { fetch });
  assert.deepEqual([good.claims, good.facts.revocation], [{ given_name: 'Erika' }, 'good']);
  const { ok, refused } = await trust.check(captured([1, list.url]), EXPECTED, { fetch });
  assert.deepEqual([ok, refused.reason, refused.hint], [false, 'credential_revoked', undefined]);
  // The list is cached now, also for this thread.
  assert.deepEqual(trust.verifySync(captured([0, list.url]), EXPECTED, { fetch }), good);
  assert.equal(trust.checkSync(captured([1, list.url]), EXPECTED, { fetch }).refused.reason, 'credential_revoked');
  assert.equal(list.asked, 1);
  const own = { fetch: () => Buffer.from(list.token()) };
  assert.equal((await trust.check(captured([0, list.url]), EXPECTED, own)).ok, true);
  assert.equal(trust.checkSync(captured([1, list.url]), EXPECTED, own).refused.reason, 'credential_revoked');
  assert.equal(list.asked, 1);
});

test('a status that is not fetched refuses one presentation, and the hint says what to do', async (t) => {
  const [list, trust] = [await source(t), trusting()];
  const shown = captured([0, list.url]);
  for (const verdict of [
    await trust.check(shown, EXPECTED, { fetch: false }),
    trust.checkSync(shown, EXPECTED, { fetch: false }),
  ]) {
    assert.deepEqual([verdict.ok, verdict.refused.reason], [false, 'revocation_unknown']);
    assert.match(verdict.refused.hint, /`fetch`/);
    assert.ok(verdict.refused.message.endsWith(verdict.refused.hint));
  }
  // Private addresses are not reached unless allowed.
  for (const verdict of [await trust.check(shown, EXPECTED), trust.checkSync(shown, EXPECTED)]) {
    assert.deepEqual([verdict.ok, verdict.refused.reason], [false, 'revocation_unknown']);
  }
  assert.equal(list.asked, 0);
});

test('a fault of this machine refuses one presentation with a hint to try again', async (t) => {
  const [list, fetch, trust] = [await source(t), new idgate.Fetcher({ allow: LOCAL }), trusting()];
  const { run } = abi;
  t.mock.method(abi, 'run', (name, ...given) => {
    if (name === 'verification_fetch') throw new idgate.NotAvailable({ message: 'no file descriptor' });
    return run(name, ...given);
  });
  const shown = captured([0, list.url]);
  for (const { ok, refused } of [
    await trust.check(shown, EXPECTED, { fetch }),
    trust.checkSync(shown, EXPECTED, { fetch }),
  ]) {
    assert.deepEqual([ok, refused.reason], [false, 'revocation_unknown']);
    assert.match(refused.hint, /try again/);
    assert.ok(refused.message.endsWith(refused.hint));
  }
  const verifier = verifierOf({ fetch });
  const { store, committed } = keeping();
  await assert.rejects(verifier.decide(...answered(verifier, [[0, list.url]]), store), { name: 'NotAvailable' });
  assert.deepEqual(committed, ['VERIFYING', 'PENDING']);
});

test('the hold is released when the library fails', async (t) => {
  const [list, fetcher] = [await source(t), new idgate.Fetcher({ allow: LOCAL })];
  const verifier = verifierOf({ fetch: fetcher });
  const committed = [];
  const commit = ({ session }) => {
    committed.push(session.info().status);
    fetcher.close();
    return true;
  };
  await assert.rejects(verifier.decide(...answered(verifier, [[0, list.url]]), { commit }), TypeError);
  assert.deepEqual(committed, ['VERIFYING', 'PENDING']);
});

test('the hold is released whatever error the caller’s fetch has', async () => {
  const verifier = verifierOf();
  for (const problem of [new Error('own'), new TypeError('own'), 'text']) {
    const throwing = () => {
      throw problem;
    };
    for (const fetch of [throwing, async () => throwing()]) {
      const committed = await failing(verifier, 'https://list.example', (error) => error === problem, { fetch });
      assert.deepEqual(committed, ['VERIFYING', 'PENDING']);
    }
    const { store, committed } = keeping();
    const given = answered(verifier, [[0, 'https://list.example']]);
    assert.throws(
      () => verifier.decideSync(...given, store, { fetch: throwing }),
      (error) => error === problem,
    );
    assert.deepEqual(committed, ['VERIFYING', 'PENDING']);
  }
  const fetch = async () => 'text';
  assert.deepEqual(await failing(verifier, 'https://list.example', TypeError, { fetch }), ['VERIFYING', 'PENDING']);
});

test('a failed release does not hide the first error', async () => {
  const problem = new Error('own');
  const verifier = verifierOf();
  const commit = async ({ session }) => {
    if (session.info().status === 'PENDING') throw new Error('the store is down');
    return true;
  };
  const fetch = async () => Promise.reject(problem);
  const given = answered(verifier, [[0, 'https://list.example']]);
  await assert.rejects(verifier.decide(...given, { commit }, { fetch }), (error) => error === problem);
});

test('a hold that was not committed is not released', async () => {
  const [problem, verifier] = [new Error('own'), verifierOf()];
  const given = answered(verifier, [[0, 'https://list.example']]);
  const committed = [];
  const commit = async ({ session }) => {
    committed.push(session.info().status);
    throw problem;
  };
  await assert.rejects(verifier.decide(...given, { commit }), (error) => error === problem);
  assert.deepEqual(committed, ['VERIFYING']);
});

test('a hold is released if the store does not say whether it stored it', async () => {
  const verifier = verifierOf({ fetch: () => null });
  for (const said of [undefined, 'stored', {}]) {
    const { store, committed } = keeping();
    const commit = (transition) => (store.commit(transition), said);
    const given = () => [...answered(verifier, [[0, 'https://list.example']]), { commit }];
    await assert.rejects(verifier.decide(...given()), TypeError);
    assert.throws(() => verifier.decideSync(...given()), TypeError);
    assert.deepEqual(committed, ['VERIFYING', 'PENDING', 'VERIFYING', 'PENDING']);
  }
});

test('a late or unawaited failure does not end the process', async (t) => {
  const unhandled = [];
  const note = (problem) => unhandled.push(problem);
  process.on('unhandledRejection', note);
  t.after(() => process.off('unhandledRejection', note));
  const verifier = verifierOf();
  const statuses = ['https://one.example', 'https://two.example'].map((uri) => [0, uri]);
  const rejected = [];
  const late = () => {
    const promise = new Promise((_, reject) => setImmediate(() => reject(new Error('late'))));
    rejected.push(promise);
    return promise;
  };
  let asked = 0;
  const mixed = () => {
    asked += 1;
    if (asked % 2 === 0) throw new Error('at once');
    return late();
  };
  const store = { commit: () => true };
  await assert.rejects(verifier.decide(...answered(verifier, statuses), store, { fetch: mixed }), /at once/);
  assert.throws(() => verifier.decideSync(...answered(verifier, statuses), store, { fetch: mixed }), /at once/);
  assert.throws(() => verifier.decideSync(...answered(verifier, statuses), store, { fetch: late }), TypeError);
  assert.throws(() => verifier.decideSync(...answered(verifier, statuses), { commit: late }), TypeError);
  assert.throws(() => trusting().checkSync(captured(statuses[0]), EXPECTED, { fetch: late }), TypeError);
  // Node reports a rejection at the end of a turn.
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(rejected.length >= 6, `${rejected.length}`);
  assert.deepEqual(unhandled, []);
});

test('a session that went on without this answer is left alone', async () => {
  const verifier = verifierOf();
  const committed = [];
  const commit = ({ session }) => committed.push(session.info().status) === 1;
  const given = answered(verifier, [[0, 'https://list.example']]);
  const closed = { name: 'NotAnAnswer', code: 'session_not_pending' };
  await assert.rejects(verifier.decide(...given, { commit }, { fetch: () => null }), closed);
  assert.deepEqual(committed, ['VERIFYING', 'FAILED']);
});

test('an invalid fetch option is refused before anything is committed', async () => {
  const verifier = verifierOf();
  for (const fetch of [1, 'https://list.example', {}]) {
    assert.deepEqual(await failing(verifier, 'https://list.example', TypeError, { fetch }), []);
  }
});

test('unusable fetcher options are refused', () => {
  for (const wrong of [{ allow: ['localhost'] }, { allow: ['10.0.0.1/8'] }, { roots: 'no certificate' }]) {
    assert.throws(() => new idgate.Fetcher(wrong), { name: 'Misconfigured' });
  }
  for (const wrong of [{ allow: '10.0.0.0/8' }, { allowed: [] }]) {
    assert.throws(() => new idgate.Fetcher(wrong), TypeError);
  }
  for (const fetch of ['yes', 1, {}]) assert.throws(() => verifierOf({ fetch }), TypeError);
});
