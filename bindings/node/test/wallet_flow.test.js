'use strict';
// A third-party wallet at the routes. It fetches a signed request, checks it, and posts an encrypted answer.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const path = require('node:path');
const { test } = require('node:test');
const idgate = require('idgate');
const { freePort } = require('../../../tests/harness/patience.cjs');

const WALLETS = path.join(__dirname, '..', '..', '..', 'tests', 'wallets', 'node');
const ISSUER = 'https://issuer.example';
const load = (file) => import(path.join(WALLETS, file));

/** A shop that signs its requests, and a wallet with a credential that the shop trusts. */
async function start(t) {
  const [{ Issuer }, { Wallet }] = await Promise.all([load('issuer.js'), load('wallet.js')]);
  const issuer = await Issuer.create({ issuerId: ISSUER, vct: 'urn:eudi:pid:1' });
  const wallet = await Wallet.create();
  const credential = await issuer.issue(
    wallet,
    { given_name: 'Erika', birthdate: '1984-01-26' },
    {
      _sd: ['given_name', 'birthdate'],
    },
  );
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const trust = new idgate.Trust([{ id: ISSUER, vcts: ['urn:eudi:pid:1'], jwk: issuer.publicJwk }]);
  const signer = new idgate.Signer(base, idgate.generateSigningKey());
  const verifier = new idgate.Verifier(base, trust, { profiles: ['1.0', 'draft'], signer });
  const sessions = new Map();
  const store = {
    load: (handle) => sessions.get(handle),
    commit({ fromRevision, session }) {
      if ((sessions.get(session.id)?.revision ?? 0) !== fromRevision) return false;
      for (const handle of session.handles) sessions.set(handle, session);
      return true;
    },
  };
  const server = http.createServer(idgate.toNodeHandler(idgate.wallets(verifier, store))).listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { verifier, store, wallet, credential };
}

for (const profiles of [['1.0'], ['draft', '1.0']]) {
  test(`a wallet answers a signed request of ${profiles.join(' and ')}`, async (t) => {
    const { verifier, store, wallet, credential } = await start(t);
    const { queries, resolve, selected, send } = await load('dcql-wallet.js');
    const credentials = [{ id: 'pid', format: 'dc+sd-jwt', issuerId: ISSUER, claims: ['given_name'] }];
    const made = verifier.createSession({ profiles, credentials }, { mode: 'live' });
    assert.equal(store.commit(made), true);
    const { id } = made.session;
    const offer = made.session.info().offers.find(({ profile }) => profile === '1.0');
    assert.equal(offer.handle === id, profiles.length === 1);
    const answer = async (link, changes) => {
      const request = await resolve(link);
      const [query] = queries(request);
      const presented = await wallet.present(credential, selected(query), request, changes);
      return send(request, { vp_token: { [query.id]: [presented] } });
    };
    assert.equal((await answer(offer.deepLinks.openid4vp)).status, 200);
    const settled = store.load(id);
    assert.deepEqual(settled.result('backend').claims, { pid: { given_name: 'Erika' } });
    const { requestMode, profile } = settled.result('backend').verificationDetails;
    assert.deepEqual([requestMode, profile], ['jar', '1.0']);
    // A proof for another session is refused.
    const other = verifier.createSession({ profiles: ['1.0'], credentials }, { mode: 'live' });
    store.commit(other);
    const { status, body } = await answer(other.session.info().qrCodeUrl, { nonce: 'of-another-session' });
    assert.deepEqual([status, body.error], [400, 'invalid_presentation']);
    assert.equal(store.load(other.session.id).info().reason, 'nonce_mismatch');
  });
}
