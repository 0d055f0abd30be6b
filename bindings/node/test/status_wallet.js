'use strict';
// A wallet whose credentials name a status list, and an issuer that a verifier trusts.

const crypto = require('node:crypto');
const idgate = require('idgate');
const cases = require('./cases.js');

const ISSUER = 'https://issuer.example';
const VCTS = ['urn:one', 'urn:two'];
const FORM = 'application/x-www-form-urlencoded';
const [issuer, holder] = [1, 2].map(() => crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }));

const b64 = (data) => Buffer.from(data).toString('base64url');
const seconds = () => Math.floor(Date.now() / 1000);

function jwt({ privateKey }, typ, payload) {
  const input = [{ alg: 'ES256', typ }, payload].map((part) => b64(JSON.stringify(part))).join('.');
  const signature = crypto.sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${input}.${b64(signature)}`;
}

const trusting = () => new idgate.Trust([{ id: ISSUER, vcts: VCTS, jwk: issuer.publicKey.export({ format: 'jwk' }) }]);

function verifierOf(options) {
  return new idgate.Verifier(cases.BASE_URL, trusting(), { profiles: ['1.0'], ...options });
}

/** A presentation whose credential names that entry of a status list, if one is given. */
function presentation(vct, status, request, claims = { given_name: 'Erika' }) {
  const now = seconds();
  const listed = status && { status: { status_list: { idx: status[0], uri: status[1] } } };
  const issued = `${jwt(issuer, 'dc+sd-jwt', {
    iss: ISSUER,
    vct,
    iat: now,
    exp: now + 3600,
    ...claims,
    cnf: { jwk: holder.publicKey.export({ format: 'jwk' }) },
    ...listed,
  })}~`;
  const sd_hash = b64(crypto.createHash('sha256').update(issued).digest());
  const [aud, nonce] = [request.get('client_id'), request.get('nonce')];
  return issued + jwt(holder, 'kb+jwt', { iat: now, aud, nonce, sd_hash });
}

/** An answer with a credential for each status, to a new session. */
function answered(verifier, statuses) {
  const asked = statuses.map((_, at) => ({
    id: `c${at}`,
    format: 'dc+sd-jwt',
    issuerId: ISSUER,
    claims: ['given_name'],
  }));
  const { session } = verifier.createSession({ credentials: asked }, { mode: 'live' });
  const request = new URL(session.info().qrCodeUrl).searchParams;
  const shown = Object.fromEntries(statuses.map((status, at) => [`c${at}`, [presentation(VCTS[at], status, request)]]));
  const body = new URLSearchParams({ state: request.get('state'), vp_token: JSON.stringify(shown) });
  return [session, { to: session.id, body: body.toString(), contentType: FORM }];
}

const EXPECTED = { format: 'dc+sd-jwt', issuerId: ISSUER, clientId: 'x', nonce: 'n', claims: ['given_name'] };
/** A presentation without a session. */
const captured = (status) => presentation(VCTS[0], status, new URLSearchParams({ client_id: 'x', nonce: 'n' }));

module.exports = {
  EXPECTED,
  FORM,
  VCTS,
  answered,
  b64,
  captured,
  issuer,
  jwt,
  presentation,
  seconds,
  trusting,
  verifierOf,
};
