// The wallet's side of the jar profile: @openid4vc/openid4vp fetches the Request Object and checks
// it against the gateway's did:web, jose encrypts the answer.

import assert from 'node:assert/strict'
import { createHash, createPublicKey, randomBytes } from 'node:crypto'
import { clientAuthenticationNone, setGlobalConfig } from '@openid4vc/oauth2'
import { Openid4vpClient } from '@openid4vc/openid4vp'
import { X509Certificate, X509ChainBuilder } from '@peculiar/x509'
import * as jose from 'jose'
import { describe } from './wallet.js'

// The gateway under test is on loopback without TLS.
setGlobalConfig({ allowInsecureUrls: true })

const client = new Openid4vpClient({
  callbacks: {
    hash: (data, alg) => createHash(alg.replace('-', '')).update(data).digest(),
    generateRandom: (length) => randomBytes(length),
    clientAuthentication: clientAuthenticationNone({ clientId: 'wallet' }),
    signJwt: () => assert.fail('the jar profile needs no signing'),
    decryptJwe: () => assert.fail('the jar profile needs no decryption'),
    verifyJwt,
    encryptJwe,
    getX509CertificateMetadata: (certificate) => {
      const names = new X509Certificate(certificate).getExtension('2.5.29.17')?.names.toJSON() ?? []
      const of = (type) => names.filter((name) => name.type === type).map(({ value }) => value)
      return { sanDnsNames: of('dns'), sanUriNames: of('url') }
    },
  },
})

/** did:web as wallets resolve it, but with plain HTTP: the gateway is on loopback. */
export async function resolveDidWeb(did) {
  const host = decodeURIComponent(did.replace(/^did:web:/, ''))
  const response = await fetch(`http://${host}/.well-known/did.json`)
  if (!response.ok) throw new Error(`${did}: ${response.status}`)
  return response.json()
}

/** The roots of verifiers that the wallet trusts, in PEM. */
let trustedRoots = []

export function trustRoots(...roots) {
  trustedRoots = roots
}

async function verifyJwt(signer, { compact }) {
  if (signer.method === 'x5c') return verifyByCertificate(signer, compact)
  if (signer.method !== 'did') throw new Error(`signed by ${signer.method}`)
  const { didUrl } = signer
  const document = await resolveDidWeb(didUrl.split('#')[0])
  const found = document.verificationMethod.find(({ id }) => id === didUrl)
  if (!found || !document.authentication.includes(didUrl)) return { verified: false }
  const signerJwk = found.publicKeyJwk
  try {
    await jose.compactVerify(compact, await jose.importJWK(signerJwk, 'ES256'))
  } catch {
    return { verified: false }
  }
  return { verified: true, signerJwk }
}

async function verifyByCertificate({ x5c }, compact) {
  const leaf = new X509Certificate(x5c[0])
  const certificates = trustedRoots.map((pem) => new X509Certificate(pem))
  const chain = await new X509ChainBuilder({ certificates }).build(leaf)
  const last = chain[chain.length - 1]
  if (!certificates.some((root) => root.equal(last))) return { verified: false }
  const key = createPublicKey({ key: Buffer.from(leaf.publicKey.rawData), format: 'der', type: 'spki' })
  try {
    await jose.compactVerify(compact, key)
  } catch {
    return { verified: false }
  }
  return { verified: true, signerJwk: key.export({ format: 'jwk' }) }
}

async function encryptJwe({ publicJwk, alg, enc, apu, apv }, plaintext) {
  const header = { alg, enc, kid: publicJwk.kid, apu, apv }
  const parties = { apu: apu && jose.base64url.decode(apu), apv: apv && jose.base64url.decode(apv) }
  const jwe = await new jose.CompactEncrypt(new TextEncoder().encode(plaintext))
    .setProtectedHeader(Object.fromEntries(Object.entries(header).filter(([, value]) => value)))
    .setKeyManagementParameters(parties)
    .encrypt(await jose.importJWK(publicJwk, alg))
  return { jwe, encryptionJwk: publicJwk }
}

/** The Request Object behind a QR code, fetched and checked as the library checks it. */
export async function fetchRequest(uri) {
  const parsed = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: uri })
  return client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: parsed.params })
}

/** The request that a page from `origin` passes to its browser, checked as the library checks it. */
export async function browserRequest(data, origin) {
  const parsed = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: data })
  return client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: parsed.params, origin })
}

/** The encrypted answer: the value of the parameter `response`. */
export async function encryptAnswer(request, presentations, enc) {
  return encrypt(request, describe(request, presentations), enc)
}

/** The same for any parameters; `origin`: of the page that asked. */
export async function encrypt(request, authorizationResponsePayload, enc, origin) {
  const { jarm } = await client.createOpenid4vpAuthorizationResponse({
    authorizationRequestPayload: request.authorizationRequestPayload,
    authorizationResponsePayload,
    origin,
    jarm: {
      encryption: { nonce: jose.base64url.encode(randomBytes(16)) },
      serverMetadata: {
        authorization_encryption_alg_values_supported: ['ECDH-ES'],
        // The library picks the first of them that is offered, and wants what the older name says.
        authorization_encryption_enc_values_supported: [...new Set([enc, 'A256GCM'])],
      },
    },
  })
  return jarm.responseJwt
}

/** Posts an encrypted answer as the library does. */
export async function postEncrypted(request, responseJwt) {
  const { response } = await client.submitOpenid4vpAuthorizationResponse({
    authorizationRequestPayload: request.authorizationRequestPayload,
    authorizationResponsePayload: {},
    jarm: { responseJwt },
  })
  return { status: response.status, body: await response.json() }
}
