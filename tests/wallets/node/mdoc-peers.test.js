// The mdoc peers among themselves: what one presents, the other verifies, over the transcript that
// the gateway expects. Where these agree, a refusal by the gateway is the gateway's.

import assert from 'node:assert/strict'
import test, { before } from 'node:test'
import { Authority, generateDeviceKey } from './authority.js'
import { auth0Mdl, MDL, MDL_NAMESPACE, owfMdoc, transcript } from './mdoc.js'

const RESPONSE_URI = 'https://gateway.example/v1/oid4vp/response/ses_1'
const REQUEST = {
  client_id: `redirect_uri:${RESPONSE_URI}`,
  nonce: 'n-0S6_WzA2Mj',
  response_uri: RESPONSE_URI,
}
const DEFINITION = {
  id: 'definition',
  input_descriptors: [
    {
      id: MDL,
      format: { mso_mdoc: { alg: ['ES256'] } },
      constraints: {
        limit_disclosure: 'required',
        fields: [{ path: [`$['${MDL_NAMESPACE}']['family_name']`], intent_to_retain: false }],
      },
    },
  ],
}

let authority, stranger

before(async () => {
  authority = await Authority.create('https://iaca.example', 'Utopia')
  stranger = await Authority.create('https://stranger.example', 'Nowhere')
})

async function present(peer) {
  const deviceKey = await generateDeviceKey()
  const elements = { family_name: 'Mustermann', issuing_country: 'UT' }
  const issued = await peer.issue(authority, deviceKey, elements)
  return peer.present(issued, deviceKey, DEFINITION, await transcript(REQUEST))
}

for (const [holder, verifier] of [
  [owfMdoc, auth0Mdl],
  [auth0Mdl, owfMdoc],
]) {
  test(`what ${holder.name} presents, ${verifier.name} verifies`, async () => {
    await verifier.verify(await present(holder), authority, await transcript(REQUEST))
  })

  test(`${verifier.name} refuses what ${holder.name} signed for another nonce`, async () => {
    const bytes = await present(holder)
    const another = await transcript({ ...REQUEST, nonce: 'another' })
    await assert.rejects(verifier.verify(bytes, authority, another))
  })

  test(`${verifier.name} refuses an issuer of ${holder.name} under another root`, async () => {
    const bytes = await present(holder)
    await assert.rejects(verifier.verify(bytes, stranger, await transcript(REQUEST)))
  })
}

test('the transcript is that of OpenID4VP 1.0 B.2.6.1 with a null thumbprint', async () => {
  const bytes = Buffer.from((await transcript(REQUEST)).encode())
  const head = Buffer.from('83f6f682714f70656e494434565048616e646f7665725820', 'hex')
  assert.deepEqual(bytes.subarray(0, head.length), head)
  assert.equal(bytes.length, head.length + 32)
})
