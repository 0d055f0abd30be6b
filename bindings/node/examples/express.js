'use strict';
// "Is this person 18?" inside Express, from the button to the boolean: npm install express
//
//   IDGATE_ISSUER_JWK=issuer.jwk.json node express.js
//
// The page is bindings/browser/age.html, which asks through bindings/browser/idgate.js. The maps stand for
// your database: they forget what is over, and take no more than they can hold. Use one that compares the
// revision, and seal what you keep.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const express = require('express');
const { IdgateError, Trust, Verifier } = require('idgate');

const PORT = Number(process.env.PORT ?? 8000);
const BASE_URL = process.env.BASE_URL ?? `http://127.0.0.1:${PORT}`; // the page's origin, too
const BROWSER = path.join(__dirname, '..', '..', 'browser');
const MAX_CHECKS = Number(process.env.MAX_CHECKS ?? 10_000);
const CHECK_SECONDS = Number(process.env.CHECK_SECONDS ?? 600); // a session takes answers for 300
// Nothing from elsewhere, in nobody's frame, and the browser's dialogue for this page alone.
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  'Permissions-Policy': 'digital-credentials-get=(self)',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};
const ISSUER = 'https://issuer.example';
const REQUEST = {
  credentials: [
    {
      id: 'pid',
      format: 'vc+sd-jwt',
      issuer_id: ISSUER,
      claims: ['adult'],
      claim_paths: { adult: ['age_equal_or_over', '18'] },
    },
  ],
  dc_api: { origins: [BASE_URL] },
};

const trust = new Trust();
trust.addIssuer(ISSUER, { vct: ['urn:eudi:pid:1'] });
trust.addJwk(ISSUER, fs.readFileSync(process.env.IDGATE_ISSUER_JWK));
const verifier = new Verifier(BASE_URL, trust, { profiles: ['1.0'], dcApi: 'unsigned' });

// What is known of a session, by its id, which stands in the link, where everybody can read it: it opens
// nothing here. Pages have an id of our own, and their browser a secret in a cookie.
const stored = new Map();
const checks = new Map();

function commit({ fromRevision, session }) {
  const { sessionId, revision } = session.info();
  const known = stored.get(sessionId);
  if ((known?.revision ?? 0) !== fromRevision) {
    throw new IdgateError('bad_response', 'session_not_pending', 'another answer was faster');
  }
  // Claims go after 30 seconds; the answer to our question is all that is kept.
  const adult = session.result()?.claims.pid.adult === true;
  stored.set(sessionId, { revision, session, adult });
}

async function decide(verification) {
  try {
    const decision = await verification.decide({ commit });
    commit(decision.transition);
    // For the operator's log, and never for the wallet: the reason, and the rule with its clause.
    if (decision.reason) console.error(`an answer was refused: ${decision.reason}: ${decision.report.failed}`);
    return decision;
  } finally {
    verification.close();
  }
}

// Whether the wallet's answer is at fault. Every other error is the operator's.
const isOfTheAnswer = (error) => error instanceof IdgateError && error.kind === 'bad_response';

const log = (error) => console.error(`an answer changed nothing: ${error.code}: ${error.message}`);

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
app.get('/', (_, response) => response.sendFile(path.join(BROWSER, 'age.html')));
for (const script of ['age.js', 'idgate.js']) {
  app.get(`/${script}`, (_, response) => response.sendFile(path.join(BROWSER, script)));
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
  const made = verifier.createSession(REQUEST, { livemode: BASE_URL.startsWith('https:') });
  commit(made);
  const { sessionId, qrCodeUrl } = made.session.info();
  const [id, secret] = [random(), random()];
  checks.set(id, { secret, sessionId, until: performance.now() + CHECK_SECONDS * 1000 });
  const secure = BASE_URL.startsWith('https:');
  response.cookie('age', secret, { httpOnly: true, sameSite: 'lax', secure, path: `/age/${id}` });
  return response.status(201).json({ id, link: qrCodeUrl, dc_api: verifier.dcApiRequests(made.session) });
});

// What follows is for the browser that began, and nobody else.
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
const bytes = (request) => (Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0));

app.post('/age/:id/dc-api', fromOurPage, ofThisBrowser, body, async (request, response) => {
  try {
    await decide(verifier.beginDcApi(stored.get(request.sessionId).session, bytes(request)));
  } catch (error) {
    if (!isOfTheAnswer(error)) throw error;
    log(error);
    // Where another answer was faster, the page asks for the outcome of that one.
    if (error.code !== 'session_not_pending') return response.status(400).json({ error: error.code });
  }
  return response.json({});
});

const statusOf = (sessionId) => stored.get(sessionId).session.info().status;
const isOpen = (status) => status === 'CREATED' || status === 'PENDING';

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

// Where the wallet answers that followed the link.
app.post('/v1/oid4vp/response/:sessionId', body, async (request, response) => {
  response.set('Cache-Control', 'no-store');
  try {
    const session = stored.get(request.params.sessionId)?.session;
    if (!session) throw new IdgateError('bad_response', 'session_not_pending', 'no such session');
    const contentType = request.get('content-type') ?? null;
    const decision = await decide(verifier.begin(session, bytes(request), contentType));
    if (decision.reply !== 'refused') return response.json(decision.body);
    const message = 'the presentation was refused';
    return response.status(400).json({ error: 'invalid_presentation', message });
  } catch (error) {
    if (!isOfTheAnswer(error)) throw error;
    log(error);
    const status = error.code === 'session_not_pending' ? 409 : 400;
    return response.status(status).json({ error: error.code, message: error.message });
  }
});

// Express would show a stack. Four parameters make it a handler of errors.
app.use((error, request, response, next) => {
  if (response.headersSent) return next(error);
  if (error.status === 413) return response.status(413).json({ error: 'payload_too_large' });
  if (error.status < 500) return response.status(error.status).json({ error: 'invalid_request' });
  console.error(error);
  // By a fault of this machine: the session is as it was, and the same answer is taken later.
  if (error instanceof IdgateError && error.kind === 'unavailable') {
    return response.set('Retry-After', '1').status(503).json({ error: 'temporarily_unavailable' });
  }
  return response.status(500).json({ error: 'internal_error' });
});

const server = app.listen(PORT, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
