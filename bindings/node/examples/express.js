'use strict';
// An age check inside Express, from the button to the boolean: npm install express
//
//   IDGATE_ISSUER_JWK=issuer.jwk.json node express.js
//
// The page is bindings/browser/age.html, which asks through bindings/browser/idgate.js. The maps replace your
// database: they drop expired entries and have a limit. Use a database that compares the revision, and encrypt what
// you store.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const express = require('express');
const { NotAnAnswer, NotAvailable, Trust, Verifier, toNodeHandler, wallets } = require('idgate');

const PORT = Number(process.env.PORT ?? 8000);
const BASE_URL = process.env.BASE_URL ?? `http://127.0.0.1:${PORT}`; // the page's origin, too
const BROWSER = path.join(__dirname, '..', '..', 'browser');
const MAX_CHECKS = Number(process.env.MAX_CHECKS ?? 10_000);
const CHECK_SECONDS = Number(process.env.CHECK_SECONDS ?? 600); // a session takes answers for 300
// No content from other sites, no frames, and the browser's dialogue only for this page.
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'Permissions-Policy': 'digital-credentials-get=(self)',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};
const ISSUER = 'https://issuer.example';
const REQUEST = {
  credentials: [
    {
      id: 'pid',
      format: 'dc+sd-jwt',
      issuerId: ISSUER,
      claims: ['adult'],
      claimPaths: { adult: ['age_equal_or_over', '18'] },
    },
  ],
  dcApi: { origins: [BASE_URL] },
};

const trust = new Trust([
  { id: ISSUER, vcts: ['urn:eudi:pid:1'], jwk: fs.readFileSync(process.env.IDGATE_ISSUER_JWK) },
]);
const verifier = new Verifier(BASE_URL, trust, { profiles: ['1.0'], dcApi: 'unsigned' });

// Sessions by their id. The id is public, because it is in the link, so it gives access to nothing here. Pages use an
// id of our own, and their browser has a secret in a cookie.
const stored = new Map();
const checks = new Map();

const store = {
  load: (handle) => stored.get(handle)?.session,
  // Returns whether the session is stored: false if another answer was faster.
  commit({ fromRevision, session }) {
    const { id, revision } = session;
    if ((stored.get(id)?.revision ?? 0) !== fromRevision) return false;
    // Claims are erased after 30 seconds. Only the answer to our question is kept, and only the browser with the
    // cookie sees it.
    const isVerified = session.info().status === 'VERIFIED';
    const adult = isVerified && session.result('backend').credential('pid').adult === true;
    stored.set(id, { revision, session, adult });
    return true;
  },
};

// Logs the reason and the failed rule with its clause. Never show them to the wallet.
function onRefused({ reason, report }) {
  console.error(`an answer was refused: ${reason}: ${report.failed}`);
}

const random = () => crypto.randomBytes(16).toString('base64url');

// Drops expired checks, the oldest first. Returns whether there is room for another one.
function makeRoom() {
  for (const [id, { sessionId, until }] of checks) {
    if (until > performance.now()) break;
    checks.delete(id);
    stored.delete(sessionId);
  }
  return checks.size < MAX_CHECKS;
}

const app = express();
app.disable('x-powered-by');
app.use((_, response, next) => next(void response.set(HEADERS)));
// The endpoint for wallets that followed the link.
app.use(toNodeHandler(wallets(verifier, store, { onRefused })));
app.get('/', (_, response) => response.sendFile(path.join(BROWSER, 'age.html')));
for (const file of ['age.css', 'age.js', 'idgate.js']) {
  app.get(`/${file}`, (_, response) => response.sendFile(path.join(BROWSER, file)));
}

// Browsers send the origin of a request. Only our own page may start a check and answer it.
function fromOurPage(request, response, next) {
  if (request.get('origin') === BASE_URL) return next();
  return response.status(403).json({ error: 'forbidden' });
}

app.post('/age', fromOurPage, (_, response) => {
  response.set('Cache-Control', 'no-store');
  if (!makeRoom()) {
    return response.set('Retry-After', '60').status(503).json({ error: 'temporarily_unavailable' });
  }
  const made = verifier.createSession(REQUEST, { mode: BASE_URL.startsWith('https:') ? 'live' : 'test' });
  store.commit(made);
  const { qrCodeUrl } = made.session.info();
  const [id, secret] = [random(), random()];
  checks.set(id, { secret, sessionId: made.session.id, until: performance.now() + CHECK_SECONDS * 1000 });
  const secure = BASE_URL.startsWith('https:');
  response.cookie('age', secret, { httpOnly: true, sameSite: 'lax', secure, path: `/age/${id}` });
  return response.status(201).json({ id, link: qrCodeUrl, dc_api: verifier.dcApiRequests(made.session) });
});

// The routes below are only for the browser that started the check.
function ofThisBrowser(request, response, next) {
  const check = checks.get(request.params.id);
  const secret = /(?:^|; )age=([\w-]{22})(?:;|$)/.exec(request.get('cookie') ?? '')?.[1];
  response.set('Cache-Control', 'no-store');
  if (!check || !secret || !crypto.timingSafeEqual(Buffer.from(secret), Buffer.from(check.secret))) {
    return response.status(404).json({ error: 'not_found' });
  }
  request.sessionId = check.sessionId;
  return next();
}

const body = express.raw({ type: () => true, limit: '1mb' });

app.post('/age/:id/dc-api', fromOurPage, ofThisBrowser, body, async (request, response) => {
  const answer = { dcApi: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0) };
  try {
    const decision = await verifier.decide(stored.get(request.sessionId).session, answer, store);
    if (decision.reply === 'refused') onRefused(decision);
  } catch (error) {
    if (!(error instanceof NotAnAnswer)) throw error;
    console.error(`an answer changed nothing: ${error.code}: ${error.message}`);
    // If another answer was faster, the page asks for its outcome.
    if (error.code !== 'session_not_pending') return response.status(400).json({ error: error.code });
  }
  return response.json({});
});

const statusOf = (sessionId) => stored.get(sessionId).session.info().status;
// There is no outcome yet while a status list is fetched.
const isOpen = (status) => status === 'CREATED' || status === 'PENDING' || status === 'VERIFYING';

app.get('/age/:id/events', ofThisBrowser, (request, response) => {
  response.set('Content-Type', 'text/event-stream');
  let told;
  const look = () => {
    const status = statusOf(request.sessionId);
    if (status !== told) response.write(`data: ${JSON.stringify({ status })}\n\n`);
    told = status;
    if (!isOpen(status)) response.end('event: end\ndata: {}\n\n');
  };
  const timer = setInterval(look, 500);
  response.on('close', () => clearInterval(timer));
  look();
});

app.get('/age/:id', ofThisBrowser, (request, response) => {
  if (isOpen(statusOf(request.sessionId))) return response.status(409).json({ error: 'no_answer_yet' });
  return response.json({ adult: stored.get(request.sessionId).adult });
});

// An error handler, because Express would show a stack trace. Express recognises it by its four parameters.
app.use((error, request, response, next) => {
  if (response.headersSent) return next(error);
  if (error.status === 413) return response.status(413).json({ error: 'payload_too_large' });
  if (error.status < 500) return response.status(error.status).json({ error: 'invalid_request' });
  console.error(error);
  // A fault of this machine. The session is unchanged, and the same answer can be accepted later.
  if (error instanceof NotAvailable) {
    return response.set('Retry-After', `${error.retryAfter}`).status(503).json({ error: 'temporarily_unavailable' });
  }
  return response.status(500).json({ error: 'internal_error' });
});

const server = app.listen(PORT, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
