// The wallet library accepts requests in the shape that the gateway sends, and refuses similar ones.
// Needs no gateway.

import assert from 'node:assert/strict'
import test from 'node:test'
import { readRequest } from './wallet.js'

const RESPONSE_URI = 'https://gateway.example/v1/oid4vp/response/ses_0123456789abcdefghijAB'

function inlineRequest(changes = {}) {
  const parameters = {
    response_type: 'vp_token',
    response_mode: 'direct_post',
    client_id: `redirect_uri:${RESPONSE_URI}`,
    response_uri: RESPONSE_URI,
    nonce: 'n-0S6_WzA2Mj-sample-nonce',
    state: 'sample-state',
    presentation_definition: JSON.stringify({
      id: 'definition',
      input_descriptors: [
        {
          id: 'credential_1',
          format: { 'vc+sd-jwt': { 'sd-jwt_alg_values': ['ES256'], 'kb-jwt_alg_values': ['ES256'] } },
          constraints: {
            limit_disclosure: 'required',
            fields: [
              { path: ['$.vct'], filter: { type: 'string', const: 'urn:example:pid:1' } },
              { path: ['$.given_name'] },
            ],
          },
        },
      ],
    }),
    client_metadata: JSON.stringify({
      vp_formats: { 'vc+sd-jwt': { 'sd-jwt_alg_values': ['ES256'], 'kb-jwt_alg_values': ['ES256'] } },
    }),
    ...changes,
  }
  const present = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return `openid4vp://?${new URLSearchParams(present)}`
}

test('the inline request is accepted as one with a redirect_uri client_id', async () => {
  const request = await readRequest(inlineRequest())
  assert.equal(request.client.prefix, 'redirect_uri')
  assert.equal(request.authorizationRequestPayload.response_uri, RESPONSE_URI)
  assert.equal(request.pex.presentation_definition.input_descriptors.length, 1)
})

const refused = {
  'without response_mode': { response_mode: undefined },
  'with the client_id of another response_uri': { client_id: 'redirect_uri:https://elsewhere.example/' },
  'with dcql_query beside presentation_definition': { dcql_query: '{"credentials":[]}' },
}
for (const [title, changes] of Object.entries(refused)) {
  test(`a request ${title} is refused`, async () => {
    await assert.rejects(readRequest(inlineRequest(changes)))
  })
}
