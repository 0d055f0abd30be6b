// The jar profile with a wallet library against a running gateway: signed Request Object, did:web,
// encrypted answer, rotation of the signing key.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import * as jose from 'jose'
import { Gateway } from './gateway.js'
import { Issuer } from './issuer.js'
import { encryptAnswer, fetchRequest, postEncrypted, resolveDidWeb } from './jar-wallet.js'
import { Wallet } from './wallet.js'

const PERSON = { given_name: 'Erika', family_name: 'Mustermann' }
const FRAME = { _sd: ['given_name', 'family_name'] }

let gateway, issuer, wallet, credential

before(async () => {
  issuer = await Issuer.create({ issuerId: 'https://pid.example', vct: 'urn:example:pid' })
  wallet = await Wallet.create()
  credential = await issuer.issue(wallet, PERSON, FRAME)
  gateway = await Gateway.start([issuer], { requestMode: 'jar' })
})

after(async () => gateway?.stop())

const asked = () => ({
  credentials: [{ format: 'vc+sd-jwt', issuer_id: issuer.issuerId, claims: ['given_name'] }],
})

test('the library takes the request for one of a did, and its key is the published one', async () => {
  const session = await gateway.createSession(asked())
  assert.equal((await gateway.session(session.session_id)).status, 'CREATED')
  const request = await fetchRequest(session.qr_code_url)
  assert.equal((await gateway.session(session.session_id)).status, 'PENDING')
  assert.equal(request.client.prefix, 'decentralized_identifier')
  const { client_id: did, response_mode: mode } = request.authorizationRequestPayload
  assert.equal(mode, 'direct_post.jwt')
  const { kid } = jose.decodeProtectedHeader(await rawRequest(session))
  const jwks = await (await fetch(`${gateway.url}/.well-known/jwks.json`)).json()
  const document = await resolveDidWeb(did)
  assert.deepEqual(jwks.keys.map((key) => key.kid), document.verificationMethod.map(({ id }) => id))
  assert.ok(document.authentication.includes(kid))
})

for (const enc of ['A128GCM', 'A256GCM', 'A128CBC-HS256']) {
  test(`an SD-JWT VC encrypted with ${enc} is VERIFIED`, async () => {
    const session = await gateway.createSession(asked())
    const request = await fetchRequest(session.qr_code_url)
    const presentation = await wallet.present(credential, { given_name: true }, request)
    const answer = await encryptAnswer(request, [presentation], enc)
    assert.equal(jose.decodeProtectedHeader(answer).enc, enc)
    const reply = await postEncrypted(request, answer)
    assert.deepEqual(reply, { status: 200, body: { status: 'ok' } })
    const result = await gateway.session(session.session_id)
    assert.equal(result.status, 'VERIFIED')
    assert.deepEqual(result.claims, { credential_1: { given_name: 'Erika' } })
    assert.equal(result.verification_details.request_mode, 'jar')
    assert.equal((await postEncrypted(request, answer)).status, 409)
  })
}

test('the answer to another session does not decrypt', async () => {
  const [first, second] = [await gateway.createSession(asked()), await gateway.createSession(asked())]
  const [one, two] = [await fetchRequest(first.qr_code_url), await fetchRequest(second.qr_code_url)]
  const presentation = await wallet.present(credential, { given_name: true }, one)
  const answer = await encryptAnswer(one, [presentation], 'A256GCM')
  const { status, body } = await postEncrypted(two, answer)
  assert.deepEqual([status, body.error], [400, 'decryption_failed'])
  assert.equal((await gateway.session(second.session_id)).status, 'PENDING')
  assert.equal((await postEncrypted(one, answer)).status, 200)
})

test('a session keeps its key over a rotation, and a new one has the new key', async () => {
  const session = await gateway.createSession(asked())
  const before = await rawRequest(session)
  const { key } = await gateway.command('keys', 'rotate')
  const after = await rawRequest(session)
  const fresh = await rawRequest(await gateway.createSession(asked()))
  const jwks = jose.createRemoteJWKSet(new URL(`${gateway.url}/.well-known/jwks.json`))
  for (const jwt of [before, after, fresh]) await jose.compactVerify(jwt, jwks)
  const [old, kept, young] = [before, after, fresh].map((jwt) => jose.decodeProtectedHeader(jwt).kid)
  assert.equal(kept, old)
  assert.notEqual(young, old)
  assert.ok(young.endsWith(`#${key.id}`))
  const [was, is] = [before, after].map((jwt) => jose.decodeJwt(jwt))
  assert.deepEqual([was.nonce, was.client_metadata.jwks], [is.nonce, is.client_metadata.jwks])
  await fetchRequest(session.qr_code_url)
})

/** The Request Object as it is served. */
async function rawRequest(session) {
  const uri = new URL(session.qr_code_url).searchParams.get('request_uri')
  const response = await fetch(uri)
  assert.equal(response.headers.get('content-type'), 'application/oauth-authz-req+jwt')
  return response.text()
}
