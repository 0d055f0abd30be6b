'use strict';
// A shop that asks for an age (the example of a binding), and the wallet of its tests: tests/wallets/node.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually, freePort } = require('../../../tests/harness/patience.cjs');

const WALLETS = path.join(__dirname, '..', '..', '..', 'tests', 'wallets', 'node');
const EXAMPLES = path.join(__dirname, '..', '..');
const UNSIGNED = 'openid4vp-v1-unsigned';

/** The command that starts each shop on a port. */
const SHOPS = {
  express: (port) => [process.execPath, [path.join(EXAMPLES, 'node', 'examples', 'express.js')], { PORT: port }],
  // IDGATE_PYTHON: an interpreter with the package.
  fastapi: (port) => [
    process.env.IDGATE_PYTHON,
    ['-m', 'uvicorn', '--app-dir', path.join(EXAMPLES, 'python', 'examples'), 'fastapi_app:app', '--port', port],
    {},
  ],
};

/** Starts a shop with its own issuer. `hold` issues the credential of a person who is of age or not. */
async function start(t, which = 'express', settings = {}) {
  const [{ Issuer }, { Wallet }] = await Promise.all([load('issuer.js'), load('wallet.js')]);
  const issuer = await Issuer.create({ issuerId: 'https://issuer.example', vct: 'urn:eudi:pid:1' });
  const wallet = await Wallet.create();
  const base = await launch(t, issuer.publicJwk, which, settings);
  const hold = (adult) => {
    const claims = { given_name: 'Erika', age_equal_or_over: { 18: adult } };
    return issuer.issue(wallet, claims, { _sd: ['given_name'], age_equal_or_over: { _sd: ['18'] } });
  };
  return { base, hold, wallet };
}

/** Starts a shop that trusts the issuer with that key. Returns its address. */
async function launch(t, publicJwk, which = 'express', settings = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'idgate-age-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const jwk = path.join(folder, 'issuer.jwk.json');
  fs.writeFileSync(jwk, JSON.stringify(publicJwk));
  const port = `${await freePort()}`;
  const base = `http://127.0.0.1:${port}`;
  const [program, options, more] = SHOPS[which](port);
  const env = { ...process.env, IDGATE_ISSUER_JWK: jwk, BASE_URL: base, ...more, ...settings };
  const server = spawn(program, options, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  t.after(() => server.kill());
  await eventually('the shop listens', () => {
    if (server.exitCode !== null) throw new Error(`the shop ended with ${server.exitCode}`);
    return fetch(base).catch(() => undefined);
  });
  return base;
}

const load = (file) => import(path.join(WALLETS, file));

/** A wallet follows the link and posts its answer. */
async function answerLink({ link }, wallet, credential, changes) {
  const { queries, resolve, selected, send } = await load('dcql-wallet.js');
  const request = await resolve(link);
  const [query] = queries(request);
  const presented = await wallet.present(credential, selected(query), request, changes);
  return send(request, { vp_token: { [query.id]: [presented] } });
}

/** The credential that the browser gives a page from `origin`. */
async function askBrowser({ requests }, origin, wallet, credential) {
  const [{ queries, selected }, { browserRequest, encrypt }] = await Promise.all([
    load('dcql-wallet.js'),
    load('jar-wallet.js'),
  ]);
  const { data } = requests.find(({ protocol }) => protocol === UNSIGNED);
  const request = await browserRequest(data, origin);
  const { nonce, client_metadata: metadata } = request.authorizationRequestPayload;
  const [query] = queries(request);
  const binding = { aud: `origin:${origin}`, nonce };
  const presented = await wallet.present(credential, selected(query), request, binding);
  const [enc] = metadata.encrypted_response_enc_values_supported;
  const response = await encrypt(request, { vp_token: { [query.id]: [presented] } }, enc, origin);
  return { protocol: UNSIGNED, data: { response } };
}

module.exports = { UNSIGNED, answerLink, askBrowser, launch, start };
