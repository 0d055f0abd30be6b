// Third-party issuer and wallet libraries against a running gateway, from the tenant's session
// request to the tenant's result.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { Gateway } from './gateway.js'
import { Issuer } from './issuer.js'
import { readRequest, Wallet } from './wallet.js'

const PERSON = { given_name: 'Erika', family_name: 'Mustermann', birthdate: '1984-01-26' }
const FRAME = { _sd: ['given_name', 'family_name', 'birthdate'] }
const SHOW_NAME = { given_name: true, family_name: true }

const issuers = {}
let gateway

before(async () => {
  const issuer = (name, options = {}) =>
    Issuer.create({ issuerId: `https://${name}.example`, vct: `urn:example:${name}`, ...options })
  issuers.es256 = await issuer('es256')
  issuers.vcTyp = await issuer('vc-typ', { typ: 'vc+sd-jwt' })
  issuers.es384 = await issuer('es384', { alg: 'ES384', hashAlg: 'sha-384' })
  issuers.es512 = await issuer('es512', { alg: 'ES512', hashAlg: 'sha-512' })
  gateway = await Gateway.start(Object.values(issuers))
})

after(async () => gateway?.stop())

const asksFor = (issuer, claims, more = {}) => ({
  format: 'vc+sd-jwt',
  issuer_id: issuer.issuerId,
  claims,
  ...more,
})

/** Creates a session, checks its invitation and reads it as the wallet does. */
async function invite(...credentials) {
  const session = await gateway.createSession({ credentials })
  const request = await readRequest(session.qr_code_url)
  const { client_id, response_uri } = request.authorizationRequestPayload
  assert.equal(request.client.prefix, 'redirect_uri')
  assert.equal(client_id, `redirect_uri:${response_uri}`)
  assert.equal(request.authorizationRequestPayload.response_mode, 'direct_post')
  assert.equal((await gateway.session(session.session_id)).status, 'PENDING')
  return { session, request }
}

const wallets = [
  { title: 'ES256, typ dc+sd-jwt', issuer: 'es256', alg: 'ES256' },
  { title: 'ES256, typ vc+sd-jwt', issuer: 'vcTyp', alg: 'ES256' },
  { title: 'ES384 with sha-384, holder key P-384', issuer: 'es384', alg: 'ES384' },
  { title: 'ES512 with sha-512, holder key P-521', issuer: 'es512', alg: 'ES512' },
  { title: 'ES512 issuer, P-256 holder key', issuer: 'es512', alg: 'ES512', holderAlg: 'ES256' },
]
for (const { title, issuer: name, alg, holderAlg = alg } of wallets) {
  test(`one credential, ${title}: VERIFIED with the requested claims`, async () => {
    const issuer = issuers[name]
    const wallet = await Wallet.create(holderAlg)
    const { session, request } = await invite(asksFor(issuer, ['given_name', 'family_name']))
    const credential = await issuer.issue(wallet, PERSON, FRAME)

    const presentation = await wallet.present(credential, SHOW_NAME, request)
    const answer = await wallet.answer(request, [presentation])
    assert.deepEqual(answer, { status: 200, body: { status: 'ok' } })

    const result = await gateway.session(session.session_id)
    assert.equal(result.status, 'VERIFIED')
    assert.deepEqual(result.claims, {
      credential_1: { given_name: 'Erika', family_name: 'Mustermann' },
    })
    const [details] = result.verification_details.credentials
    assert.equal(result.verification_details.request_mode, 'inline')
    assert.equal(details.alg, alg)
    assert.equal(details.issuer, issuer.issuerId)
    assert.equal(details.credential_type, issuer.vct)
    assert.equal(details.holder_binding, 'kb_jwt')
    assert.equal(details.revocation, 'not_published')
  })
}

test('the label dc+sd-jwt in the submission is accepted', async () => {
  const wallet = await Wallet.create()
  const { session, request } = await invite(asksFor(issuers.es256, ['given_name']))
  const credential = await issuers.es256.issue(wallet, PERSON, FRAME)
  const presentation = await wallet.present(credential, { given_name: true }, request)
  const answer = await wallet.answer(request, [presentation], 'dc+sd-jwt')
  assert.equal(answer.status, 200)
  assert.equal((await gateway.session(session.session_id)).status, 'VERIFIED')
})

test('a claim disclosed beyond the request is not handed out', async () => {
  const wallet = await Wallet.create()
  const { session, request } = await invite(asksFor(issuers.es256, ['given_name']))
  const credential = await issuers.es256.issue(wallet, PERSON, FRAME)
  const presentation = await wallet.present(credential, { ...SHOW_NAME, birthdate: true }, request)
  assert.equal((await wallet.answer(request, [presentation])).status, 200)
  const result = await gateway.session(session.session_id)
  assert.deepEqual(result.claims, { credential_1: { given_name: 'Erika' } })
})

test('two credentials in one answer, about the same person', async () => {
  const wallet = await Wallet.create()
  const credentials = [
    asksFor(issuers.es256, ['given_name', 'family_name', 'birthdate'], { id: 'pid' }),
    asksFor(issuers.vcTyp, ['birthdate', 'given_name', 'family_name'], { id: 'membership' }),
  ]
  const groups = [['pid', 'membership']]
  const session = await gateway.createSession({ credentials, same_subject_groups: groups })
  const request = await readRequest(session.qr_code_url)
  const show = { ...SHOW_NAME, birthdate: true }
  const present = async (issuer) =>
    wallet.present(await issuer.issue(wallet, PERSON, FRAME), show, request)

  const byDescriptor = { pid: issuers.es256, membership: issuers.vcTyp }
  const descriptors = request.pex.presentation_definition.input_descriptors
  const presentations = await Promise.all(descriptors.map(({ id }) => present(byDescriptor[id])))
  const answer = await wallet.answer(request, presentations)
  assert.deepEqual(answer, { status: 200, body: { status: 'ok' } })

  const result = await gateway.session(session.session_id)
  assert.equal(result.status, 'VERIFIED')
  assert.deepEqual(result.claims, { pid: PERSON, membership: PERSON })
  const matched = result.verification_details.same_subject
  assert.deepEqual(matched, [{ ids: ['pid', 'membership'], matched: true }])
})

test('nested members and array elements arrive as far as they are disclosed', async () => {
  const wallet = await Wallet.create()
  const { session, request } = await invite(asksFor(issuers.es256, ['address', 'nationalities']))
  const claims = {
    ...PERSON,
    address: { street_address: 'Heidestraße 17', locality: 'Köln', country: 'DE' },
    nationalities: ['DE', 'FR', 'AT'],
  }
  const frame = {
    _sd: [...FRAME._sd, 'address', 'nationalities'],
    _sd_decoy: 3,
    address: { _sd: ['street_address', 'locality', 'country'] },
    nationalities: { _sd: [0, 1, 2] },
  }
  const credential = await issuers.es256.issue(wallet, claims, frame)
  const show = { address: { locality: true, country: true }, nationalities: { 1: true } }

  const presentation = await wallet.present(credential, show, request)
  assert.equal((await wallet.answer(request, [presentation])).status, 200)
  const result = await gateway.session(session.session_id)
  assert.deepEqual(result.claims, {
    credential_1: { address: { locality: 'Köln', country: 'DE' }, nationalities: ['FR'] },
  })
})

const refusals = [
  {
    title: 'a key binding for another nonce',
    reason: 'nonce_mismatch',
    binding: { nonce: 'nonce-of-another-request' },
  },
  {
    title: 'a key binding for another verifier',
    reason: 'audience_mismatch',
    binding: { aud: 'redirect_uri:https://elsewhere.example/response' },
  },
  {
    title: 'a key binding from long ago',
    reason: 'kb_jwt_stale',
    binding: { iat: Math.floor(Date.now() / 1000) - 3600 },
  },
  {
    title: 'a credential signed by a key that is not trusted',
    reason: 'issuer_signature_invalid',
    issuer: async () => {
      const { issuerId, vct } = issuers.es256
      return Issuer.create({ issuerId, vct })
    },
  },
  {
    title: 'a credential of another type',
    reason: 'type_mismatch',
    issuer: async () =>
      Object.assign(Object.create(Object.getPrototypeOf(issuers.es256)), issuers.es256, {
        vct: 'urn:example:another',
      }),
  },
  {
    title: 'a requested claim kept back',
    reason: 'claim_missing',
    show: { given_name: true },
  },
]
for (const { title, reason, binding, issuer, show = SHOW_NAME } of refusals) {
  test(`${title}: 400 without detail, FAILED ${reason}`, async () => {
    const wallet = await Wallet.create()
    const { session, request } = await invite(asksFor(issuers.es256, ['given_name', 'family_name']))
    const from = issuer ? await issuer() : issuers.es256
    const credential = await from.issue(wallet, PERSON, FRAME)

    const presentation = await wallet.present(credential, show, request, binding)
    const answer = await wallet.answer(request, [presentation])
    assert.equal(answer.status, 400)
    assert.equal(answer.body.error, 'invalid_presentation')
    assert.ok(!JSON.stringify(answer.body).includes(reason), 'the wallet is not told why')

    const result = await gateway.session(session.session_id)
    assert.equal(result.status, 'FAILED')
    assert.equal(result.reason, reason)
    assert.ok(!('claims' in result))

    const again = await wallet.answer(request, [await wallet.present(credential, SHOW_NAME, request)])
    assert.equal(again.status, 409)
    assert.equal(again.body.error, 'session_not_pending')
  })
}

test('an answer cannot be replayed into another session', async () => {
  const wallet = await Wallet.create()
  const first = await invite(asksFor(issuers.es256, ['given_name', 'family_name']))
  const second = await invite(asksFor(issuers.es256, ['given_name', 'family_name']))
  const credential = await issuers.es256.issue(wallet, PERSON, FRAME)
  const presentation = await wallet.present(credential, SHOW_NAME, first.request)
  assert.equal((await wallet.answer(second.request, [presentation])).status, 400)
  assert.equal((await gateway.session(second.session.session_id)).status, 'FAILED')
  assert.equal((await wallet.answer(first.request, [presentation])).status, 200)
})
