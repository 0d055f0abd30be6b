// Third-party mdoc issuers and wallets against a running gateway in test mode, inline profile.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { Authority, generateDeviceKey } from './authority.js'
import { Gateway } from './gateway.js'
import { Issuer } from './issuer.js'
import { auth0Mdl, MDL, MDL_NAMESPACE, owfMdoc, transcript, validity } from './mdoc.js'
import { postAnswer, readRequest, Wallet } from './wallet.js'

const DAY_MS = 86_400_000
const PEERS = [owfMdoc, auth0Mdl]

let authority, stranger, sdJwtIssuer, gateway

before(async () => {
  authority = await Authority.create('https://iaca.example', 'Utopia')
  stranger = await Authority.create('https://stranger.example', 'Nowhere')
  sdJwtIssuer = await Issuer.create({ issuerId: 'https://pid.example', vct: 'urn:example:pid' })
  gateway = await Gateway.start([authority, sdJwtIssuer], { test: true })
})

after(async () => gateway?.stop())

const elementsFor = (peer) => ({
  family_name: 'Mustermann',
  given_name: 'Erika',
  birth_date: peer.birthDate('1984-01-26'),
  age_over_21: true,
  issuing_country: 'UT',
})

const asksFor = (claims, more = {}) => ({
  format: 'mso_mdoc',
  issuer_id: authority.issuerId,
  doc_type: MDL,
  namespace: MDL_NAMESPACE,
  claims,
  ...more,
})

async function invite(...credentials) {
  const session = await gateway.createSession({ credentials })
  const request = await readRequest(session.qr_code_url)
  return { id: session.session_id, request, payload: request.authorizationRequestPayload }
}

/** An answer to the request. `changes` replaces parts of it. */
async function present(peer, invitation, changes = {}) {
  const deviceKey = await generateDeviceKey()
  const { issuer = authority, dates, bound = {}, proofKey = deviceKey, definition } = changes
  const issued = await peer.issue(issuer, deviceKey, elementsFor(peer), dates)
  const sessionTranscript = await transcript({ ...invitation.payload, ...bound })
  const asked = definition ?? invitation.request.pex.presentation_definition
  return peer.present(issued, proofKey, asked, sessionTranscript)
}

const token = (bytes) => Buffer.from(bytes).toString('base64url')

async function assertRefused(invitation, bytes, reason) {
  const answer = await postAnswer(invitation.request, [token(bytes)])
  assert.equal(answer.status, 400)
  assert.equal(answer.body.error, 'invalid_presentation')
  const result = await gateway.session(invitation.id)
  assert.equal(result.status, 'FAILED')
  assert.equal(result.reason, reason)
  assert.equal(result.claims, undefined)
}

for (const peer of PEERS) {
  test(`${peer.name} issues and presents: VERIFIED with the requested elements`, async () => {
    const invitation = await invite(asksFor(['family_name', 'birth_date']))
    const bytes = await present(peer, invitation)
    const answer = await postAnswer(invitation.request, [token(bytes)])
    assert.deepEqual(answer, { status: 200, body: { status: 'ok' } })

    const result = await gateway.session(invitation.id)
    assert.equal(result.status, 'VERIFIED')
    assert.deepEqual(result.claims, {
      credential_1: { family_name: 'Mustermann', birth_date: '1984-01-26' },
    })
    const [details] = result.verification_details.credentials
    assert.equal(details.format, 'mso_mdoc')
    assert.equal(details.credential_type, MDL)
    assert.equal(details.alg, 'ES256')
    assert.equal(details.holder_binding, 'device_signature')
    assert.equal(details.trust, 'x5chain')
    assert.equal(details.revocation, 'not_published')
    assert.equal(details.session_transcript, 'openid4vp-1.0')
  })

  test(`${peer.name} answers age_over_18 with its age_over_21`, async () => {
    const invitation = await invite(asksFor(['age_over_18']))
    const bytes = await present(peer, invitation)
    assert.equal((await postAnswer(invitation.request, [token(bytes)])).status, 200)
    const result = await gateway.session(invitation.id)
    assert.deepEqual(result.claims, { credential_1: { age_over_18: true } })
    const [details] = result.verification_details.credentials
    assert.deepEqual(details.decided_by, { age_over_18: 'age_over_21' })
  })

  const refusals = [
    ['a transcript of another nonce', { bound: { nonce: 'another' } }, 'device_auth_invalid'],
    [
      'a transcript of another client_id',
      { bound: { client_id: 'redirect_uri:https://other.example/' } },
      'device_auth_invalid',
    ],
    ['an expired MSO', { dates: validity(-DAY_MS / 2) }, 'credential_expired'],
    ['an MSO of tomorrow', { dates: validity(DAY_MS / 2) }, 'credential_not_yet_valid'],
  ]
  for (const [what, changes, reason] of refusals) {
    test(`${peer.name} with ${what}: ${reason}`, async () => {
      const invitation = await invite(asksFor(['family_name']))
      await assertRefused(invitation, await present(peer, invitation, changes), reason)
    })
  }

  test(`${peer.name} with a proof of another device key: device_auth_invalid`, async () => {
    const invitation = await invite(asksFor(['family_name']))
    const bytes = await present(peer, invitation, { proofKey: await generateDeviceKey() })
    await assertRefused(invitation, bytes, 'device_auth_invalid')
  })

  test(`${peer.name} with an issuer under another root: chain_invalid`, async () => {
    const invitation = await invite(asksFor(['family_name']))
    const bytes = await present(peer, invitation, { issuer: stranger })
    await assertRefused(invitation, bytes, 'chain_invalid')
  })

  test(`${peer.name} with a changed element: digest_mismatch`, async () => {
    const invitation = await invite(asksFor(['family_name']))
    const bytes = Buffer.from(await present(peer, invitation))
    const at = bytes.indexOf('Mustermann')
    assert.ok(at > 0)
    bytes[at] = 'N'.charCodeAt(0)
    await assertRefused(invitation, bytes, 'digest_mismatch')
  })

  test(`${peer.name} with an SD-JWT VC in one answer`, async () => {
    const wallet = await Wallet.create()
    const pid = { format: 'vc+sd-jwt', issuer_id: sdJwtIssuer.issuerId, claims: ['given_name'], id: 'pid' }
    const invitation = await invite(pid, asksFor(['family_name'], { id: 'licence' }))
    const { id, input_descriptors: descriptors } = invitation.request.pex.presentation_definition
    const definition = { id, input_descriptors: descriptors.filter(({ id }) => id === MDL) }
    const credential = await sdJwtIssuer.issue(wallet, { given_name: 'Erika' }, { _sd: ['given_name'] })
    const presentations = [
      await wallet.present(credential, { given_name: true }, invitation.request),
      token(await present(peer, invitation, { definition })),
    ]
    const answer = await postAnswer(invitation.request, presentations)
    assert.deepEqual(answer, { status: 200, body: { status: 'ok' } })
    assert.deepEqual((await gateway.session(invitation.id)).claims, {
      pid: { given_name: 'Erika' },
      licence: { family_name: 'Mustermann' },
    })
  })
}
