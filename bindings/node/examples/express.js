'use strict';
// "Is this person 18?" inside Express, from the button to the boolean: npm install express
//
//   IDGATE_ISSUER_JWK=issuer.jwk.json node express.js
//
// The page is bindings/browser/age.html, which asks through bindings/browser/idgate.js. The maps are in place
// of your database: they forget what is over, and take no more than they can hold. Use one that compares the
// revision, and seal what you keep.

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
// Nothing from elsewhere, in no frame, and the browser's dialogue for this page alone.
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

// Sessions by their id, which is in the link, where everyone can read it: it opens nothing here. Pages have an id
// of our own, and their browser a secret in a cookie.
const stored = new Map();
const checks = new Map();

const store = {
  load: (handle) => stored.get(handle)?.session,
  // Whether it is stored: not where another answer was faster.
  commit({ fromRevision, session }) {
    const { id, revision } = session;
    if ((stored.get(id)?.revision ?? 0) !== fromRevision) return false;
    // Claims go after 30 seconds; the answer to our question is all that is kept. It is shown to the browser that
    // has the cookie, and to no other.
    const isVerified = session.info().status === 'VERIFIED';
    const adult = isVerified && session.result('backend').credential('pid').adult === true;
    stored.set(id, { revision, session, adult });
    return true;
  },
};

// For the operator's log, and never for the wallet: the reason, and the rule with its clause.
function onRefused({ reason, report }) {
  console.error(`an answer was refused: ${reason}: ${report.failed}`);
}

const random = () => crypto.randomBytes(16).toString('base64url');

// Forgets what is over, the oldest first, and says whether there is room for one more.
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
// Where wallets answer that followed the link.
app.use(toNodeHandler(wallets(verifier, store, { onRefused })));
app.get('/', (_, response) => response.sendFile(path.join(BROWSER, 'age.html')));
for (const file of ['age.css', 'age.js', 'idgate.js']) {
  app.get(`/${file}`, (_, response) => response.sendFile(path.join(BROWSER, file)));
}

// Browsers say where a request comes from; only our own page may begin and answer.
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

// The routes below are for the browser that began, and for no other.
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
    // Where another answer was faster, the page asks for the outcome of that one.
    if (error.code !== 'session_not_pending') return response.status(400).json({ error: error.code });
  }
  return response.json({});
});

const statusOf = (sessionId) => stored.get(sessionId).session.info().status;
// A wallet's answer is open as well while a status list is fetched.
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

// Express would show a stack. Four parameters make it a handler of errors.
app.use((error, request, response, next) => {
  if (response.headersSent) return next(error);
  if (error.status === 413) return response.status(413).json({ error: 'payload_too_large' });
  if (error.status < 500) return response.status(error.status).json({ error: 'invalid_request' });
  console.error(error);
  // By a fault of this machine: the session is as it was, and the same answer is taken later.
  if (error instanceof NotAvailable) {
    return response.set('Retry-After', `${error.retryAfter}`).status(503).json({ error: 'temporarily_unavailable' });
  }
  return response.status(500).json({ error: 'internal_error' });
});

const server = app.listen(PORT, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
