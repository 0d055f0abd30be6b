'use strict';
// The cases that Rust, C, Python and Node share.

const fs = require('node:fs');
const path = require('node:path');
const { IdgateError, Session, Trust, Verifier } = require('idgate');

const BASE_URL = 'https://gateway.example';
const COMMITTED = path.join(__dirname, '..', '..', '..', 'tests', 'it', 'cases');

/** The committed ones, or all that IDGATE_CASES points to. */
const FOLDER = process.env.IDGATE_CASES ?? COMMITTED;

function load() {
  const files = fs.readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return files.sort().flatMap((name) => JSON.parse(fs.readFileSync(path.join(FOLDER, name))));
}

/** A key and a certificate for it, and when they are good. */
function certified() {
  return JSON.parse(fs.readFileSync(path.join(FOLDER, 'verifier', 'certified.json')));
}

const decode = (text) => Buffer.from(text, 'base64url');

function verifierOf(test) {
  const trust = new Trust();
  for (const { issuer_id, vct, revocation, jwks = [], roots = [], sd_jwt_roots = [] } of test.trust) {
    trust.addIssuer(issuer_id, { vct, revocation });
    if (jwks.length > 0) trust.addJwk(issuer_id, { keys: jwks });
    for (const root of roots) trust.addRoots(issuer_id, decode(root));
    for (const root of sd_jwt_roots) trust.addSdJwtRoots(issuer_id, decode(root));
  }
  const verifier = new Verifier(BASE_URL, trust);
  trust.close();
  return verifier;
}

function begin(test) {
  const session = Session.restore(decode(test.session));
  const now = new Date(test.now_ms);
  // Through a browser, or posted to an offer.
  if (test.dc_api) return verifierOf(test).beginDcApi(session, decode(test.body), { now });
  const options = { offer: test.offer, now };
  return verifierOf(test).begin(session, decode(test.body), test.content_type, options);
}

function told(test, decision) {
  const result = decision.transition.session.result(new Date(test.now_ms));
  return { status: decision.status, reason: decision.reason, claims: result && result.claims };
}

/** The decision about a case. */
function decided(test) {
  const verification = begin(test);
  for (;;) {
    const step = verification.step();
    if (step.kind === 'done') return step;
    step.needs.forEach((need) => verification.supply(need, null, new Date(test.now_ms)));
  }
}

/** What comes of a case. */
function outcome(test) {
  try {
    return told(test, decided(test));
  } catch (error) {
    if (error instanceof IdgateError && error.kind === 'bad_response') return { error: error.code };
    throw error;
  }
}

/** The same on worker threads. */
async function outcomeAsync(test) {
  const verification = begin(test);
  const decision = await verification.decide({ commit: () => {}, fetch: () => null });
  return told(test, decision);
}

module.exports = { BASE_URL, certified, decided, decode, load, outcome, outcomeAsync, verifierOf };
