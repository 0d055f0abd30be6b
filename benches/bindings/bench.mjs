// Verification from Node: idgate, the npm peers, and idgate in Rust, on the same files.
//
// How to run it: README.md. Process time per verification. Each round measures all three, one after
// the other; the figures are medians over the rounds, of differences and ratios too.

import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Trust, Verifier } from 'idgate';

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const DATA = process.env.IDGATE_PERF_DATA ?? path.join(ROOT, '..', 'shared', 'perf', 'data');
const TARGET = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target');
const read = (name) => fs.readFileSync(path.join(DATA, name));
const manifest = JSON.parse(read('manifest.json'));
const SD_JWT = read('sdjwt_es256_10of30.txt').toString().trim();
const MDOC = read('mdoc_6of25_chain1.cbor');
const ISSUER_KEY = JSON.parse(read('issuer_es256.public.jwk.json'));
const ROUNDS = 9;

const decode = (text) => Buffer.from(text, 'base64url');
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** CPU time of one verification in microseconds, measured for about this many seconds. */
async function measured(work, seconds) {
  let [count, spent] = [0, 0];
  const before = process.cpuUsage();
  while (spent < seconds * 1e6) {
    for (let n = 0; n < 10; n += 1) await work();
    count += 10;
    const { user, system } = process.cpuUsage(before);
    spent = user + system;
  }
  return spent / count;
}

function sdJwt() {
  const parts = SD_JWT.split('~');
  const claims = parts.slice(1, -1).map((part) => JSON.parse(decode(part))[1]);
  const presented = new Date(JSON.parse(decode(parts.at(-1).split('.')[1])).iat * 1000);
  const trust = new Trust([{ id: manifest.iss, jwk: ISSUER_KEY }]);
  const expected = {
    format: 'vc+sd-jwt',
    issuerId: manifest.iss,
    clientId: manifest.aud,
    nonce: manifest.nonce,
    claims,
    sentAt: presented,
  };
  return () => trust.verifySync(SD_JWT, expected, { fetch: false, now: presented });
}

function mdoc() {
  const trust = new Trust([{ id: 'bench', revocation: 'off', iacaRoots: read('iaca_root1.der') }]);
  const text = MDOC.toString('base64url');
  const expected = {
    format: 'mso_mdoc',
    issuerId: 'bench',
    clientId: manifest.aud,
    nonce: manifest.nonce,
    responseUri: manifest.response_uri,
    docType: 'org.iso.18013.5.1.mDL',
    namespace: 'org.iso.18013.5.1',
    claims: ['family_name', 'given_name', 'birth_date', 'age_over_18'],
    profile: 'draft',
    apu: Buffer.from(manifest.mdoc_generated_nonce).toString('base64url'),
  };
  const options = { fetch: false, now: new Date('2026-12-01T00:00:00Z') };
  return () => trust.verifySync(text, expected, options);
}

async function peerSdJwt() {
  const { SDJwtVcInstance } = await import('@sd-jwt/sd-jwt-vc');
  const { subtle } = crypto.webcrypto;
  const curve = { name: 'ECDSA', namedCurve: 'P-256' };
  const key = ({ kty, crv, x, y }) =>
    subtle.importKey('jwk', { kty, crv, x, y }, curve, false, ['verify']);
  const hash = { name: 'ECDSA', hash: 'SHA-256' };
  const issuer = await key(ISSUER_KEY);
  const instance = new SDJwtVcInstance({
    hasher: (data) => crypto.createHash('sha256').update(data).digest(),
    hashAlg: 'sha-256',
    verifier: (data, signature) =>
      subtle.verify(hash, issuer, decode(signature), Buffer.from(data)),
    kbVerifier: async (data, signature, payload) =>
      subtle.verify(hash, await key(payload.cnf.jwk), decode(signature), Buffer.from(data)),
  });
  return () => instance.verify(SD_JWT, { keyBindingNonce: manifest.nonce });
}

async function peerMdoc() {
  const { Verifier: Peer } = await import('@auth0/mdl');
  const peer = new Peer([read('iaca_root1.pem').toString()]);
  const encodedSessionTranscript = read('session_transcript_18013_7.bytes24.cbor');
  return () => peer.verify(MDOC, { encodedSessionTranscript });
}

/** Microseconds of idgate-core on AWS-LC, and of the floor, from the Rust bench. */
function inRust(only) {
  const program = path.join(TARGET, 'release', 'idgate-bench');
  const options = ['--json', '--windows', '3', '--only', only];
  const lines = execFileSync(program, options).toString().trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line));
  const row = rows.find((one) => one.case === only && one.backend === 'aws-lc-rs');
  return [row.idgate_us, row.floor_us];
}

/** KiB for each of a thousand verifiers with one issuer. */
function memoryOfAVerifier() {
  const before = process.memoryUsage.rss();
  const kept = [];
  for (let n = 0; n < 1000; n += 1) {
    const trust = new Trust([{ id: manifest.iss, jwk: ISSUER_KEY }]);
    kept.push(new Verifier('https://shop.example', trust, { profiles: ['1.0'] }));
    trust.close();
  }
  return (process.memoryUsage.rss() - before) / 1024 / kept.length;
}

/** The peer, if it is installed. */
async function installed(peer) {
  try {
    return await peer();
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return null;
  }
}

async function compare(title, own, rust, name, peer) {
  const [mine, other] = [own(), await installed(peer)];
  const rounds = [];
  for (const work of other ? [mine, other] : [mine]) await measured(work, 0.3);
  for (let round = 0; round < ROUNDS; round += 1) {
    const here = await measured(mine, 0.2);
    const [there, floor] = inRust(rust);
    rounds.push({ here, there, floor, theirs: other ? await measured(other, 0.2) : NaN });
  }
  const middle = (of) => median(rounds.map(of));
  let line = `${title}: ${middle((it) => it.here).toFixed(1)} us in Node`;
  line += `, ${middle((it) => it.there).toFixed(1)} us in Rust`;
  line += `, +${middle((it) => it.here - it.there).toFixed(1)} us`;
  line += `; floor ${middle((it) => it.floor).toFixed(1)} us`;
  if (other) {
    line += `; ${name} ${middle((it) => it.theirs).toFixed(0)} us`;
    line += `, ${middle((it) => it.theirs / it.here).toFixed(1)} times as long`;
  }
  console.log(line);
}

console.log(`a verifier takes ${memoryOfAVerifier().toFixed(1)} KiB`);
const [shown, elements] = ['SD-JWT VC ES256, 10 of 30', 'mdoc ES256, 6 of 25'];
await compare(shown, sdJwt, 'sd_jwt_es256_10of30', '@sd-jwt/sd-jwt-vc', peerSdJwt);
// The document signer is known after the first presentation, like in the Rust case of that name.
await compare(elements, mdoc, 'mdoc_es256_6of25_chain1_known', '@auth0/mdl', peerMdoc);
