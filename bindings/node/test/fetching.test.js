'use strict';
// Status lists that the package fetches itself: a wallet's answer, and sources on real sockets.

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const { test } = require('node:test');
const zlib = require('node:zlib');
const idgate = require('idgate');
const cases = require('./cases.js');

const ISSUER = 'https://issuer.example';
const VCTS = ['urn:one', 'urn:two'];
const FORM = 'application/x-www-form-urlencoded';
const LOCAL = ['127.0.0.0/8'];
const [issuer, holder] = [1, 2].map(() => crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }));

const b64 = (data) => Buffer.from(data).toString('base64url');
const seconds = () => Math.floor(Date.now() / 1000);

function jwt({ privateKey }, typ, payload) {
  const input = [{ alg: 'ES256', typ }, payload].map((part) => b64(JSON.stringify(part))).join('.');
  const signature = crypto.sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${input}.${b64(signature)}`;
}

/** A status list on loopback: revoked at 1. `before` is waited for before it answers. */
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

function verifierOf(options) {
  const trust = new idgate.Trust();
  trust.addIssuer(ISSUER, { vct: VCTS });
  trust.addJwk(ISSUER, JSON.stringify(issuer.publicKey.export({ format: 'jwk' })));
  return new idgate.Verifier(cases.BASE_URL, trust, { profiles: ['1.0'], ...options });
}

function presentation(vct, [idx, uri], request) {
  const now = seconds();
  const issued = `${jwt(issuer, 'dc+sd-jwt', {
    iss: ISSUER,
    vct,
    iat: now,
    exp: now + 3600,
    given_name: 'Erika',
    cnf: { jwk: holder.publicKey.export({ format: 'jwk' }) },
    status: { status_list: { idx, uri } },
  })}~`;
  const sd_hash = b64(crypto.createHash('sha256').update(issued).digest());
  const [aud, nonce] = [request.get('client_id'), request.get('nonce')];
  return issued + jwt(holder, 'kb+jwt', { iat: now, aud, nonce, sd_hash });
}

/** An answer with a credential for each status, under verification. */
function begun(verifier, statuses) {
  const asked = statuses.map((_, at) => ({
    id: `c${at}`,
    format: 'vc+sd-jwt',
    issuer_id: ISSUER,
    claims: ['given_name'],
  }));
  const { session } = verifier.createSession({ credentials: asked });
  const request = new URL(session.info().qrCodeUrl).searchParams;
  const shown = Object.fromEntries(statuses.map((status, at) => [`c${at}`, [presentation(VCTS[at], status, request)]]));
  const body = new URLSearchParams({ state: request.get('state'), vp_token: JSON.stringify(shown) });
  return verifier.begin(session, Buffer.from(body.toString()), FORM);
}

/** What such an answer comes to, and what was committed on the way. */
async function decide(verifier, statuses, fetch) {
  const verification = begun(verifier, statuses);
  const held = [];
  const commit = (hold) => held.push(hold.session.info().status);
  try {
    const { reason } = await verification.decide(fetch ? { commit, fetch } : { commit });
    return [reason, held];
  } finally {
    verification.close();
  }
}

test('the list decides, and is neither held nor asked while it is fresh', async (t) => {
  const [list, fetch] = [await source(t), new idgate.Fetcher({ allow: LOCAL })];
  const verifier = verifierOf({ fetch });
  assert.deepEqual(await decide(verifier, [[0, list.url]]), [null, ['VERIFYING']]);
  assert.deepEqual(await decide(verifier, [[0, list.url]]), [null, []]);
  assert.deepEqual(await decide(verifier, [[1, list.url]]), ['credential_revoked', []]);
  assert.equal(list.asked, 1);
  // What another verifier trusts is another question.
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

test('sources that say nothing hold up nobody who asks nothing', async (t) => {
  const silent = net.createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const verifier = verifierOf({ fetch: new idgate.Fetcher({ allow: LOCAL }) });
  const one = cases.load().find(({ expected }) => expected.status === 'VERIFIED');
  // One that is held up is never the first to end. On a slow machine the sources may be given up before: then it
  // has another try.
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

const fault = (kind) => Object.assign(new Error('at fault'), { kind });

/** What was committed until `verification` failed as `expected` says. */
async function failing(verification, expected, world = {}) {
  const committed = [];
  const commit = async ({ session }) => void committed.push(session.info().status);
  await assert.rejects(verification.decide({ commit, ...world }), expected);
  verification.close();
  return committed;
}

test('the hold is given back when the library fails', async (t) => {
  const [list, fetcher] = [await source(t), new idgate.Fetcher({ allow: LOCAL })];
  const verification = begun(verifierOf({ fetch: fetcher }), [[0, list.url]]);
  const committed = [];
  const commit = ({ session }) => {
    committed.push(session.info().status);
    fetcher.close();
  };
  await failing(verification, { kind: 'misuse' }, { commit });
  assert.deepEqual(committed, ['VERIFYING', 'PENDING']);
  // The same after the last fetch.
  const closed = begun(verifierOf(), [[0, list.url]]);
  const supply = closed.supply.bind(closed);
  closed.supply = (...given) => {
    supply(...given);
    closed.close();
  };
  assert.deepEqual(await failing(closed, { kind: 'misuse' }, { fetch: () => null }), ['VERIFYING', 'PENDING']);
});

test('the hold is given back whatever a fetch of the callers own fails with', async () => {
  for (const problem of [...['unavailable', 'misuse', 'internal', 'bad_response'].map(fault), new TypeError('own')]) {
    const throwing = () => {
      throw problem;
    };
    for (const fetch of [throwing, async () => throwing()]) {
      const verification = begun(verifierOf(), [[0, 'https://list.example']]);
      const committed = await failing(verification, (error) => error === problem, { fetch });
      assert.deepEqual(committed, ['VERIFYING', 'PENDING']);
    }
  }
});

test('what keeps the hold from being given back hides no fault', async () => {
  const problem = fault('internal');
  const commit = async ({ session }) => {
    if (session.info().status === 'PENDING') throw new Error('somebody was faster');
  };
  const fetch = async () => Promise.reject(problem);
  await failing(begun(verifierOf(), [[0, 'https://list.example']]), (error) => error === problem, { commit, fetch });
});

test('a hold that was not committed is not given back', async () => {
  const [problem, committed] = [fault('internal'), []];
  const commit = async ({ session }) => {
    committed.push(session.info().status);
    throw problem;
  };
  await failing(begun(verifierOf(), [[0, 'https://list.example']]), (error) => error === problem, { commit });
  assert.deepEqual(committed, ['VERIFYING']);
});

test('a fetch that is none is refused before anything is committed', async () => {
  for (const fetch of [null, true, 'https://list.example', {}]) {
    const [verification, committed] = [begun(verifierOf(), [[0, 'https://list.example']]), []];
    const commit = (transition) => committed.push(transition);
    await assert.rejects(verification.decide({ commit, fetch }), TypeError);
    assert.deepEqual(committed, []);
    verification.close();
  }
});

test('what a fetcher cannot use is refused', () => {
  for (const wrong of [{ allow: ['localhost'] }, { allow: ['10.0.0.1/8'] }, { roots: 'no certificate' }]) {
    assert.throws(() => new idgate.Fetcher(wrong), { kind: 'config' });
  }
  for (const wrong of [{ allow: '10.0.0.0/8' }, { allowed: [] }]) {
    assert.throws(() => new idgate.Fetcher(wrong), TypeError);
  }
  for (const fetch of ['yes', 1, {}, null]) assert.throws(() => verifierOf({ fetch }), TypeError);
});
