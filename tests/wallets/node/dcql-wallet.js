// A wallet of OpenID4VP 1.0: @openid4vc/openid4vp reads requests and sends answers, @sd-jwt/sd-jwt-vc,
// @owf/mdoc and @auth0/mdl present.

import assert from 'node:assert/strict'
import * as jose from 'jose'
import { encrypt, fetchRequest, postEncrypted } from './jar-wallet.js'
import { browserTranscript, transcript } from './mdoc.js'
import { postPlain, readRequest } from './wallet.js'

/** The request behind a link, checked as the library checks it. */
export async function resolve(uri) {
  const byReference = new URL(uri).searchParams.has('request_uri')
  const request = await (byReference ? fetchRequest(uri) : readRequest(uri))
  assert.equal(request.pex, undefined)
  assert.ok(request.dcql, 'a DCQL query')
  return request
}

/** The queries of a request. */
export const queries = (request) => request.dcql.query.credentials

/** The selection of an SD-JWT query's paths, in the form of @sd-jwt. */
export function selected({ claims }) {
  const frame = {}
  for (const { path } of claims) {
    let place = frame
    for (const step of path.slice(0, -1)) place = place[step] ??= {}
    place[path[path.length - 1]] = true
  }
  return frame
}

/** An mdoc query as the mdoc libraries read one. */
export function definition({ meta, claims }) {
  const field = ({ path: [namespace, element], intent_to_retain: retain = false }) => ({
    path: [`$['${namespace}']['${element}']`],
    intent_to_retain: retain,
  })
  return {
    id: 'request',
    input_descriptors: [
      {
        id: meta.doctype_value,
        format: { mso_mdoc: { alg: ['ES256'] } },
        constraints: { limit_disclosure: 'required', fields: claims.map(field) },
      },
    ],
  }
}

/** The transcript of an answer to the request. `changes` replaces parts of it. */
export async function transcriptOf(request, changes = {}) {
  const payload = request.authorizationRequestPayload
  const jwk = payload.client_metadata.jwks?.keys[0]
  const encrypted = payload.response_mode === 'direct_post.jwt'
  const thumbprint = encrypted && jose.base64url.decode(await jose.calculateJwkThumbprint(jwk))
  return transcript({ ...payload, ...changes }, thumbprint || undefined)
}

/** The same of an answer through the browser of a page from `origin`, which is always encrypted. */
export async function browserTranscriptOf(request, origin) {
  const { nonce, client_metadata: metadata } = request.authorizationRequestPayload
  const thumbprint = jose.base64url.decode(await jose.calculateJwkThumbprint(metadata.jwks.keys[0]))
  return browserTranscript({ origin, nonce }, thumbprint)
}

/** Posts `vp_token` or an error in the form that the request demands: encrypted with its first enc, or plain. */
export async function send(request, parameters) {
  const { response_mode: mode, client_metadata: metadata } = request.authorizationRequestPayload
  if (mode !== 'direct_post.jwt') return postPlain(request, parameters)
  const [enc] = metadata.encrypted_response_enc_values_supported
  return postEncrypted(request, await encrypt(request, parameters, enc))
}
