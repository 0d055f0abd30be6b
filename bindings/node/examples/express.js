'use strict';
// A shop that asks for an identity, inside Express: npm install express
//
//   IDGATE_ISSUER_JWK=issuer.jwk.json node express.js
//
// The map stands for your database. Use one that compares the revision, and seal what you keep.

const crypto = require('node:crypto');
const fs = require('node:fs');
const express = require('express');
const { IdgateError, Trust, Verifier } = require('idgate');

const PORT = Number(process.env.PORT ?? 8000);
const BASE_URL = process.env.BASE_URL ?? `http://127.0.0.1:${PORT}`;
const ISSUER = 'https://issuer.example';

const trust = new Trust();
trust.addIssuer(ISSUER);
trust.addJwk(ISSUER, fs.readFileSync(process.env.IDGATE_ISSUER_JWK));
const verifier = new Verifier(BASE_URL, trust);

const stored = new Map();
// Own id of a check -> the browser that asked for it, and the session behind it. The session's id
// stands in the QR code, where everybody can read it: it opens nothing here.
const checks = new Map();

function commit({ fromRevision, session }) {
  const { sessionId, revision } = session.info();
  if ((stored.get(sessionId)?.revision ?? 0) !== fromRevision) {
    throw new IdgateError('bad_response', 'session_not_pending', 'another answer was faster');
  }
  stored.set(sessionId, { revision, session });
}

// A real one pins the connection to an address that it checked.
async function fetchNeed(need) {
  try {
    const options = { headers: { accept: need.accept }, signal: AbortSignal.timeout(5_000) };
    const response = await fetch(need.uri, options);
    return response.ok ? Buffer.from(await response.arrayBuffer()) : null;
  } catch {
    return null;
  }
}

const random = () => crypto.randomBytes(16).toString('base64url');

function browserOf(request) {
  return /(?:^|; )browser=([\w-]{22})(?:;|$)/.exec(request.get('cookie') ?? '')?.[1];
}

const app = express();

app.post('/checks', (request, response) => {
  const asked = { format: 'vc+sd-jwt', issuer_id: ISSUER, claims: ['given_name'] };
  const made = verifier.createSession({ credentials: [asked] }, { tenant: 'shop' });
  commit(made);
  const { sessionId, qrCodeUrl } = made.session.info();
  const [id, browser] = [random(), browserOf(request) ?? random()];
  checks.set(id, { browser, sessionId });
  const secure = BASE_URL.startsWith('https:');
  response.cookie('browser', browser, { httpOnly: true, sameSite: 'lax', secure });
  response.status(201).json({ id, qr_code_url: qrCodeUrl });
});

// For the browser that asked, and nobody else: here are claims.
app.get('/checks/:id', (request, response) => {
  const check = checks.get(request.params.id);
  const session = stored.get(check?.sessionId)?.session;
  if (!session || check.browser !== browserOf(request)) {
    return response.status(404).json({ error: 'not_found' });
  }
  return response.json({ status: session.info().status, result: session.result() });
});

const body = express.raw({ type: () => true, limit: '1mb' });
app.post('/v1/oid4vp/response/:id', body, async (request, response) => {
  const session = stored.get(request.params.id)?.session;
  const answer = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  response.set('Cache-Control', 'no-store');
  let verification;
  try {
    if (!session) throw new IdgateError('bad_response', 'session_not_pending', 'no such session');
    verification = verifier.begin(session, answer, request.get('content-type') ?? null);
    const decision = await verification.decide({ commit, fetch: fetchNeed });
    commit(decision.transition);
    if (decision.reply === 'refused') {
      const message = 'the presentation was refused';
      return response.status(400).json({ error: 'invalid_presentation', message });
    }
    return response.json(decision.body);
  } catch (error) {
    if (!(error instanceof IdgateError)) throw error;
    const status = error.code === 'session_not_pending' ? 409 : 400;
    return response.status(status).json({ error: error.code, message: error.message });
  } finally {
    verification?.close();
  }
});

const server = app.listen(PORT, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
