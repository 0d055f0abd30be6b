// OpenID4VP 1.0 and HAIP with wallet libraries against a running gateway: DCQL, four kinds of clients,
// plain and encrypted answers, SD-JWT VC, mdoc, both, a declined request, and everything wrong.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { AccessAuthority, Authority, generateDeviceKey } from './authority.js'
import { definition, queries, resolve, selected, send, transcriptOf } from './dcql-wallet.js'
import { Gateway } from './gateway.js'
import { Issuer } from './issuer.js'
import { trustRoots } from './jar-wallet.js'
import { auth0Mdl, MDL, MDL_NAMESPACE, owfMdoc } from './mdoc.js'
import { Wallet } from './wallet.js'

const REDIRECT_URI = 'https://shop.example/done'
const PERSON = { given_name: 'Erika', family_name: 'Mustermann' }
const FRAME = { _sd: ['given_name', 'family_name'] }
const CLAIMS = { pid: { given_name: 'Erika' }, licence: { family_name: 'Mustermann' } }

const VARIANTS = {
  'redirect_uri, plain': { profile: '1.0', requestMode: 'inline' },
  'redirect_uri, encrypted': { profile: '1.0', requestMode: 'inline', responseMode: 'direct_post.jwt' },
  'decentralized_identifier, encrypted': { profile: '1.0', requestMode: 'jar', clientId: 'did' },
  'x509_hash, plain': {
    profile: '1.0',
    requestMode: 'jar',
    clientId: 'x509_hash',
    responseMode: 'direct_post',
  },
  haip: { profile: 'haip', requestMode: 'jar' },
}

const gateways = {}
let issuer, authority, wallet, credential

before(async () => {
  const access = await AccessAuthority.create()
  trustRoots(access.rootPem)
  authority = await Authority.create('https://iaca.example', 'Utopia')
  issuer = await Issuer.create({ issuerId: 'https://pid.example', vct: 'urn:example:pid' })
  wallet = await Wallet.create()
  credential = await issuer.issue(wallet, PERSON, FRAME)
  for (const [name, { profile, requestMode, clientId, responseMode }] of Object.entries(VARIANTS)) {
    const environment = { IDGATE_PROFILES: profile }
    if (clientId) environment.IDGATE_CLIENT_ID = clientId
    if (responseMode) environment.IDGATE_RESPONSE_MODE = responseMode
    gateways[name] = await Gateway.start([issuer, authority], { test: true, requestMode, environment, access })
  }
})

after(() => Promise.all(Object.values(gateways).map((gateway) => gateway.stop())))

const ASKED = {
  pid: () => ({ id: 'pid', format: 'vc+sd-jwt', issuer_id: issuer.issuerId, claims: ['given_name'] }),
  licence: () => ({
    id: 'licence',
    format: 'mso_mdoc',
    issuer_id: authority.issuerId,
    doc_type: MDL,
    namespace: MDL_NAMESPACE,
    claims: ['family_name'],
  }),
}

/** A session of this variant, and its request as the library reads it. */
async function invite(variant, ...ids) {
  const gateway = gateways[variant]
  const credentials = ids.map((id) => ASKED[id]())
  const session = await gateway.createSession({ credentials, redirect_uri: REDIRECT_URI })
  const request = await resolve(session.deep_links.haip)
  assert.equal(request.client.prefix, variant === 'haip' ? 'x509_hash' : variant.split(',')[0])
  return { gateway, id: session.session_id, request }
}

async function presentLicence(request, query, { peer = owfMdoc, bound, proofKey, issuedBy = authority } = {}) {
  const deviceKey = await generateDeviceKey()
  const elements = { family_name: 'Mustermann', given_name: 'Erika', issuing_country: 'UT' }
  const issued = await peer.issue(issuedBy, deviceKey, elements)
  const sessionTranscript = await transcriptOf(request, bound)
  const response = await peer.present(issued, proofKey ?? deviceKey, definition(query), sessionTranscript)
  return Buffer.from(response).toString('base64url')
}

/** One presentation for each query; `changes` say what is wrong with it. */
async function vpToken(request, changes = {}) {
  const answers = {}
  for (const query of queries(request)) {
    const presentation =
      query.format === 'mso_mdoc'
        ? await presentLicence(request, query, changes)
        : await wallet.present(changes.credential ?? credential, selected(query), request, changes.binding)
    answers[query.id] = [presentation]
  }
  return answers
}

async function assertVerified({ gateway, id }, reply, ids) {
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  assert.deepEqual(Object.keys(reply.body), ['redirect_uri'])
  const code = new URL(reply.body.redirect_uri).searchParams.get('response_code')
  const result = await gateway.session(id, code)
  assert.equal(result.status, 'VERIFIED')
  assert.deepEqual(result.claims, Object.fromEntries(ids.map((name) => [name, CLAIMS[name]])))
}

async function assertRefused({ gateway, id }, reply, reason) {
  assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_presentation'])
  const result = await gateway.session(id)
  assert.deepEqual([result.status, result.reason], ['FAILED', reason])
}

for (const variant of Object.keys(VARIANTS)) {
  for (const ids of [['pid'], ['licence'], ['pid', 'licence']]) {
    test(`${variant}: ${ids.join(' and ')} is VERIFIED`, async () => {
      const invitation = await invite(variant, ...ids)
      const reply = await send(invitation.request, { vp_token: await vpToken(invitation.request) })
      await assertVerified(invitation, reply, ids)
    })
  }

  test(`${variant}: an mdoc of @auth0/mdl is VERIFIED`, async () => {
    const invitation = await invite(variant, 'licence')
    const answers = await vpToken(invitation.request, { peer: auth0Mdl })
    await assertVerified(invitation, await send(invitation.request, { vp_token: answers }), ['licence'])
  })

  test(`${variant}: a declined request is FAILED access_denied`, async () => {
    const { gateway, id, request } = await invite(variant, 'pid')
    const reply = await send(request, { error: 'access_denied' })
    assert.equal(reply.status, 200)
    const { status, reason, wallet_error: code } = await gateway.session(id)
    assert.deepEqual([status, reason, code], ['FAILED', 'wallet_error', 'access_denied'])
  })
}

const REFUSALS = [
  ['a proof for another nonce', 'pid', 'nonce_mismatch', () => ({ binding: { nonce: 'another' } })],
  [
    'a proof for another verifier',
    'pid',
    'audience_mismatch',
    () => ({ binding: { aud: 'x509_hash:another' } }),
  ],
  [
    'a proof from long ago',
    'pid',
    'kb_jwt_stale',
    () => ({ binding: { iat: Math.floor(Date.now() / 1000) - 31_536_000 } }),
  ],
  [
    'a credential of another issuer',
    'pid',
    'issuer_signature_invalid',
    async () => {
      const { issuerId, vct } = issuer
      const stranger = await Issuer.create({ issuerId, vct })
      return { credential: await stranger.issue(wallet, PERSON, FRAME) }
    },
  ],
  ['a transcript of another nonce', 'licence', 'device_auth_invalid', () => ({ bound: { nonce: 'another' } })],
  [
    'a transcript of another place',
    'licence',
    'device_auth_invalid',
    () => ({ bound: { response_uri: 'https://elsewhere.example/' } }),
  ],
  [
    "another device's key",
    'licence',
    'device_auth_invalid',
    async () => ({ proofKey: await generateDeviceKey() }),
  ],
  [
    'an authority that is not trusted',
    'licence',
    'chain_invalid',
    async () => ({ issuedBy: await Authority.create('https://stranger.example', 'Nowhere') }),
  ],
]
for (const variant of ['redirect_uri, plain', 'haip']) {
  for (const [title, asked, reason, change] of REFUSALS) {
    test(`${variant}: ${title} is refused, ${reason}`, async () => {
      const invitation = await invite(variant, asked)
      const answers = await vpToken(invitation.request, await change())
      await assertRefused(invitation, await send(invitation.request, { vp_token: answers }), reason)
    })
  }

  test(`${variant}: of two credentials one is kept back`, async () => {
    const invitation = await invite(variant, 'pid', 'licence')
    const { pid } = await vpToken(invitation.request)
    const reply = await send(invitation.request, { vp_token: { pid } })
    await assertRefused(invitation, reply, 'submission_mismatch')
  })
}
