// A wallet: reads the request with @openid4vc/openid4vp, presents with @sd-jwt/sd-jwt-vc.

import { createHash, randomBytes } from 'node:crypto'
import { clientAuthenticationNone, setGlobalConfig } from '@openid4vc/oauth2'
import { Openid4vpClient } from '@openid4vc/openid4vp'
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc'
import { generateKey, hasher } from './issuer.js'

// The gateway under test is on loopback without TLS.
setGlobalConfig({ allowInsecureUrls: true })

const refuse = (what) => () => {
  throw new Error(`the inline profile needs no ${what}`)
}

const client = new Openid4vpClient({
  callbacks: {
    hash: (data, alg) => createHash(alg.replace('-', '')).update(data).digest(),
    generateRandom: (length) => randomBytes(length),
    clientAuthentication: clientAuthenticationNone({ clientId: 'wallet' }),
    signJwt: refuse('signing'),
    verifyJwt: refuse('signature check'),
    encryptJwe: refuse('encryption'),
    decryptJwe: refuse('decryption'),
  },
})

/** The request behind a QR code, checked as the library checks it. */
export async function readRequest(uri) {
  const parsed = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: uri })
  return client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: parsed.params })
}

export class Wallet {
  static async create(alg = 'ES256') {
    const wallet = new Wallet()
    wallet.key = await generateKey(alg)
    wallet.publicJwk = wallet.key.publicJwk
    wallet.instance = new SDJwtVcInstance({
      hasher,
      hashAlg: 'sha-256',
      kbSigner: wallet.key.signer,
      kbSignAlg: alg,
    })
    return wallet
  }

  /** One presentation bound to the request, or to what `changes` puts in its place. */
  async present(credential, disclose, request, changes = {}) {
    const { client_id: aud, nonce } = request.authorizationRequestPayload
    const payload = { iat: Math.floor(Date.now() / 1000), aud, nonce, ...changes }
    return this.instance.present(credential, disclose, { kb: { payload } })
  }

  /** Posts the presentations, in the order of the request's descriptors. */
  async answer(request, presentations, format) {
    return postAnswer(request, presentations, format)
  }
}

/** Posts presentations; `format` is the label of all, instead of what each descriptor names. */
export async function postAnswer(request, presentations, format) {
  return postPlain(request, describe(request, presentations, format))
}

/** Posts these parameters and the request's state, unencrypted. */
export async function postPlain(request, authorizationResponsePayload) {
  const created = await client.createOpenid4vpAuthorizationResponse({
    authorizationRequestPayload: request.authorizationRequestPayload,
    authorizationResponsePayload,
  })
  const { response } = await client.submitOpenid4vpAuthorizationResponse({
    authorizationRequestPayload: request.authorizationRequestPayload,
    authorizationResponsePayload: created.authorizationResponsePayload,
  })
  return { status: response.status, body: await response.json() }
}

/** The parameters of an answer, but for `state`. */
export function describe(request, presentations, format) {
  const definition = request.pex.presentation_definition
  const single = presentations.length === 1
  return {
    vp_token: single ? presentations[0] : presentations,
    presentation_submission: {
      id: 'submission',
      definition_id: definition.id,
      descriptor_map: definition.input_descriptors.map((descriptor, index) => ({
        id: descriptor.id,
        format: format ?? Object.keys(descriptor.format)[0],
        path: single ? '$' : `$[${index}]`,
      })),
    },
  }
}
