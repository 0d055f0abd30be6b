// The sandbox's issuer with @openid4vc/openid4vci: from the offer to VERIFIED, then withdrawn and refused.

import assert from 'node:assert/strict'
import { createHash, createPrivateKey, randomBytes, sign } from 'node:crypto'
import test, { after, before } from 'node:test'
import { clientAuthenticationAnonymous } from '@openid4vc/oauth2'
import { Openid4vciClient } from '@openid4vc/openid4vci'
import * as owf from '@owf/mdoc'
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc'
import { generateDeviceKey, publicJwk } from './authority.js'
import { definition, queries, resolve, selected, send, transcriptOf } from './dcql-wallet.js'
import { hasher } from './issuer.js'
import { owfMdoc } from './mdoc.js'
import { Sandbox } from './sandbox.js'

const SAMPLES = {
  pid: { format: 'dc+sd-jwt', issuer_id: 'phones', claims: ['given_name'] },
  mdl: { format: 'mso_mdoc', issuer_id: 'phones', claims: ['family_name'] },
}

let sandbox

before(async () => {
  sandbox = await Sandbox.start()
})

after(() => sandbox.stop())

const signed = (jwk, input) => {
  const key = { key: createPrivateKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' }
  return sign('sha256', Buffer.from(input), key).toString('base64url')
}

const encoded = (part) => Buffer.from(JSON.stringify(part)).toString('base64url')

/** A client of the library that signs with this key, for itself and for DPoP. */
function clientWith(jwk) {
  const refuse = (what) => () => {
    throw new Error(`the issuer needs no ${what}`)
  }
  return new Openid4vciClient({
    callbacks: {
      hash: (data, alg) => createHash(alg.replace('-', '')).update(data).digest(),
      generateRandom: (length) => randomBytes(length),
      clientAuthentication: clientAuthenticationAnonymous(),
      signJwt: (_, { header, payload }) => {
        const input = `${encoded(header)}.${encoded(payload)}`
        return { jwt: `${input}.${signed(jwk, input)}`, signerJwk: publicJwk(jwk) }
      },
      verifyJwt: refuse('signature check'),
      encryptJwe: refuse('encryption'),
      decryptJwe: refuse('decryption'),
    },
  })
}

/** What an offer becomes. `bound`: the token is bound to the key. */
async function receive(link, { txCode, bound }) {
  const jwk = await generateDeviceKey()
  const client = clientWith(jwk)
  const signer = { method: 'jwk', alg: 'ES256', publicJwk: publicJwk(jwk) }
  const credentialOffer = await client.resolveCredentialOffer(link)
  const issuerMetadata = await client.resolveIssuerMetadata(credentialOffer.credential_issuer)
  const known = Object.keys(issuerMetadata.knownCredentialConfigurations)
  assert.equal(known.length, 7, 'the library knows every configuration')
  const [credentialConfigurationId] = credentialOffer.credential_configuration_ids
  const { accessTokenResponse, dpop } = await client.retrievePreAuthorizedCodeAccessTokenFromOffer({
    credentialOffer,
    issuerMetadata,
    txCode,
    dpop: bound && { signer },
  })
  assert.equal(accessTokenResponse.token_type, bound ? 'DPoP' : 'Bearer')
  const { c_nonce: nonce } = await client.requestNonce({ issuerMetadata })
  const proof = { issuerMetadata, signer, nonce, credentialConfigurationId }
  const { jwt } = await client.createCredentialRequestJwtProof(proof)
  const { credentialResponse } = await client.retrieveCredentials({
    issuerMetadata,
    accessToken: accessTokenResponse.access_token,
    dpop,
    credentialConfigurationId,
    proofs: { jwt: [jwt] },
  })
  await client.sendNotification({
    issuerMetadata,
    accessToken: accessTokenResponse.access_token,
    dpop,
    notification: { notificationId: credentialResponse.notification_id, event: 'credential_accepted' },
  })
  return { jwk, credential: credentialResponse.credentials[0].credential }
}

/** Presents what was received to a new session of the same sandbox. */
async function present(sample, { jwk, credential }) {
  const made = await sandbox.tenant('POST', '/v1/sessions', { credentials: [SAMPLES[sample]], profile: '1.0' })
  const request = await resolve(made.qr_code_url)
  const [query] = queries(request)
  let presentation
  if (query.format === 'mso_mdoc') {
    const issued = owf.IssuerSigned.decode(Buffer.from(credential, 'base64url'))
    const transcript = await transcriptOf(request)
    const response = await owfMdoc.present(issued, jwk, definition(query), transcript)
    presentation = Buffer.from(response).toString('base64url')
  } else {
    const kbSigner = (input) => signed(jwk, input)
    const instance = new SDJwtVcInstance({ hasher, hashAlg: 'sha-256', kbSigner, kbSignAlg: 'ES256' })
    const { client_id: aud, nonce } = request.authorizationRequestPayload
    // reason: the time of the proof, which the gateway takes a minute before and after
    const payload = { iat: Math.floor(Date.now() / 1000), aud, nonce }
    presentation = await instance.present(credential, selected(query), { kb: { payload } })
  }
  await send(request, { vp_token: { [query.id]: [presentation] } })
  return sandbox.tenant('GET', `/v1/sessions/${made.session_id}`)
}

for (const sample of Object.keys(SAMPLES)) {
  for (const bound of [false, true]) {
    test(`${sample}, ${bound ? 'DPoP' : 'bearer'}: from the offer to VERIFIED, then credential_revoked`, async () => {
      const typed = bound ? ['--tx-code', '--by-reference'] : []
      const { link, tx_code: txCode } = await sandbox.offer(sample, ...typed)
      const received = await receive(link, { txCode: txCode ?? undefined, bound })
      const verified = await present(sample, received)
      assert.equal(verified.status, 'VERIFIED', JSON.stringify(verified))
      assert.deepEqual(await sandbox.withdraw(), { withdrawn: 1 })
      const revoked = await present(sample, received)
      assert.deepEqual([revoked.status, revoked.reason], ['FAILED', 'credential_revoked'])
    })
  }
}
