'use strict';
// The cases that Rust, C, Python and Node share.

const fs = require('node:fs');
const path = require('node:path');
const { NotAnAnswer, Session, Trust, Verifier, Withheld } = require('idgate');

const BASE_URL = 'https://gateway.example';
const COMMITTED = path.join(__dirname, '..', '..', '..', 'tests', 'it', 'cases');
const PROFILES = ['draft', '1.0'];

/** The committed cases, or those that IDGATE_CASES points to. */
const FOLDER = process.env.IDGATE_CASES ?? COMMITTED;

/** A store that keeps nothing. */
const STORE = { load: () => null, commit: () => true };

function load() {
  const files = fs.readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return files.sort().flatMap((name) => JSON.parse(fs.readFileSync(path.join(FOLDER, name))));
}

/** A key, its certificate, and a time at which they are valid. */
function certified() {
  return JSON.parse(fs.readFileSync(path.join(FOLDER, 'verifier', 'certified.json')));
}

const decode = (text) => Buffer.from(text, 'base64url');

/** The issuers of a case. */
function issuersOf(test) {
  return test.trust.map(({ issuer_id, vct, revocation, jwks = [], roots = [], sd_jwt_roots = [] }) => ({
    id: issuer_id,
    vcts: vct,
    revocation,
    jwk: jwks.length > 0 ? { keys: jwks } : undefined,
    iacaRoots: roots.map(decode),
    x5cRoots: sd_jwt_roots.map(decode),
  }));
}

function verifierOf(test) {
  const trust = new Trust(issuersOf(test));
  const verifier = new Verifier(BASE_URL, trust, { profiles: PROFILES });
  trust.close();
  return verifier;
}

/** The arguments of `decide` and `decideSync` for a case. */
function given(test) {
  const session = Session.restore(decode(test.session));
  const [body, now] = [decode(test.body), new Date(test.now_ms)];
  const answer = test.dc_api ? { dcApi: body } : { to: test.offer ?? session.id, body, contentType: test.content_type };
  return [session, answer, STORE, { now, fetch: () => null }];
}

function told(test, decision) {
  const { status, reason = null, transition } = decision;
  return { status, reason, claims: claimsOf(transition.session, new Date(test.now_ms)) };
}

function claimsOf(session, now) {
  try {
    return session.result('backend', now).claims;
  } catch (problem) {
    if (problem instanceof Withheld) return null;
    throw problem;
  }
}

/** The decision about a case. */
function decided(test) {
  return verifierOf(test).decideSync(...given(test));
}

/** The outcome of a case. */
function outcome(test) {
  try {
    return told(test, decided(test));
  } catch (problem) {
    if (problem instanceof NotAnAnswer) return { error: problem.code };
    throw problem;
  }
}

/** The same on worker threads. */
async function outcomeAsync(test) {
  return told(test, await verifierOf(test).decide(...given(test)));
}

module.exports = {
  BASE_URL,
  STORE,
  certified,
  decided,
  decode,
  given,
  issuersOf,
  load,
  outcome,
  outcomeAsync,
  verifierOf,
};
