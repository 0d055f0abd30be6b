// Credo as a wallet of OpenID4VP 1.0 and HAIP against a running gateway in test mode. The issuers are
// in the folder next to this one: install it first.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { AccessAuthority, Authority } from '../node/authority.js'
import { Gateway } from '../node/gateway.js'
import { Issuer } from '../node/issuer.js'
import { MDL, MDL_NAMESPACE, owfMdoc } from '../node/mdoc.js'
import { Holder } from './holder.js'

const REDIRECT_URI = 'https://shop.example/done'
const VARIANTS = {
  'redirect_uri, plain': { requestMode: 'inline', environment: { IDGATE_PROFILES: '1.0' } },
  'decentralized_identifier, encrypted': { requestMode: 'jar', environment: { IDGATE_PROFILES: '1.0' } },
  'x509_hash, encrypted': {
    requestMode: 'jar',
    environment: { IDGATE_PROFILES: '1.0', IDGATE_CLIENT_ID: 'x509_hash' },
  },
  haip: { requestMode: 'jar', environment: { IDGATE_PROFILES: 'haip' } },
}

const gateways = {}
let authority, issuer, other, holder

before(async () => {
  const access = await AccessAuthority.create()
  authority = await Authority.create('https://iaca.example', 'Utopia')
  issuer = await Issuer.create({ issuerId: 'https://pid.example', vct: 'urn:example:pid' })
  other = await Issuer.create({ issuerId: 'https://other.example', vct: 'urn:example:other' })
  holder = await Holder.create([access.rootPem])
  const person = { given_name: 'Erika', family_name: 'Mustermann' }
  const frame = { _sd: ['given_name', 'family_name'] }
  const key = await holder.createKey()
  await holder.storeSdJwtVc(await issuer.issue(key, person, frame), key)
  // Signed by another key than the issuer that it names. Everything else is right.
  const { vct } = other
  const forger = await Issuer.create({ issuerId: other.issuerId, vct })
  const forgedKey = await holder.createKey()
  await holder.storeSdJwtVc(await forger.issue(forgedKey, person, frame), forgedKey)
  const deviceKey = await holder.createKey()
  const elements = { family_name: 'Mustermann', age_over_18: true, issuing_country: 'UT' }
  const issued = await owfMdoc.issue(authority, deviceKey.publicJwk, elements)
  await holder.storeMdoc(issued.encodedForOid4Vci, deviceKey)
  for (const [name, options] of Object.entries(VARIANTS)) {
    gateways[name] = await Gateway.start([issuer, other, authority], { test: true, access, ...options })
  }
})

after(async () => {
  await holder?.stop()
  await Promise.all(Object.values(gateways).map((gateway) => gateway.stop()))
})

const pid = (from = issuer, claims = ['given_name']) => ({
  id: 'pid',
  format: 'vc+sd-jwt',
  issuer_id: from.issuerId,
  claims,
})

const licence = () => ({
  id: 'licence',
  format: 'mso_mdoc',
  issuer_id: authority.issuerId,
  doc_type: MDL,
  namespace: MDL_NAMESPACE,
  claims: ['family_name', 'age_over_18'],
})

const CLAIMS = {
  pid: { given_name: 'Erika' },
  licence: { family_name: 'Mustermann', age_over_18: true },
}

for (const [variant, { environment }] of Object.entries(VARIANTS)) {
  const create = (...credentials) =>
    gateways[variant].createSession({ credentials, redirect_uri: REDIRECT_URI })

  for (const asked of [[pid], [licence], [pid, licence]]) {
    const ids = asked.map((make) => make.name)
    test(`${variant}: ${ids.join(' and ')} is VERIFIED`, async () => {
      const session = await create(...asked.map((make) => make()))
      const { status, body } = await holder.answer(session.deep_links.haip)
      assert.equal(status, 200, JSON.stringify(body))
      const code = new URL(body.redirect_uri).searchParams.get('response_code')
      const result = await gateways[variant].session(session.session_id, code)
      assert.equal(result.status, 'VERIFIED')
      assert.deepEqual(result.claims, Object.fromEntries(ids.map((id) => [id, CLAIMS[id]])))
      assert.equal(result.verification_details.profile, environment.IDGATE_PROFILES)
    })
  }

  test(`${variant}: a request for a claim that Credo does not hold is not answered`, async () => {
    const session = await create(pid(issuer, ['shoe_size']))
    assert.equal(await holder.canAnswer(session.deep_links.haip), false)
    const { status } = await gateways[variant].session(session.session_id)
    assert.equal(status, 'PENDING')
  })

  test(`${variant}: a forged credential is FAILED issuer_signature_invalid`, async () => {
    const session = await create(pid(other))
    const { status } = await holder.answer(session.deep_links.haip)
    assert.equal(status, 400)
    const result = await gateways[variant].session(session.session_id)
    assert.deepEqual([result.status, result.reason], ['FAILED', 'issuer_signature_invalid'])
  })
}
