// Credo as the wallet behind a browser, against a running gateway in test mode. The issuers are in the folder
// next to this one: install it first.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { AccessAuthority, Authority } from '../node/authority.js'
import { Gateway } from '../node/gateway.js'
import { Issuer } from '../node/issuer.js'
import { MDL, MDL_NAMESPACE, owfMdoc } from '../node/mdoc.js'
import { Holder } from './holder.js'

const SHOP = 'https://shop.example'
const ELSEWHERE = 'https://shop.example.evil.example'
const UNSIGNED = 'openid4vp-v1-unsigned'
const SIGNED = 'openid4vp-v1-signed'
const CLAIMS = {
  pid: { given_name: 'Erika' },
  licence: { family_name: 'Mustermann', age_over_18: true },
}

const gateways = {}
let authority, issuer, holder

before(async () => {
  const access = await AccessAuthority.create()
  authority = await Authority.create('https://iaca.example', 'Utopia')
  issuer = await Issuer.create({ issuerId: 'https://pid.example', vct: 'urn:example:pid' })
  holder = await Holder.create([access.rootPem])
  const key = await holder.createKey()
  const person = { given_name: 'Erika', family_name: 'Mustermann' }
  await holder.storeSdJwtVc(await issuer.issue(key, person, { _sd: ['given_name', 'family_name'] }), key)
  const deviceKey = await holder.createKey()
  const elements = { family_name: 'Mustermann', age_over_18: true, issuing_country: 'UT' }
  const issued = await owfMdoc.issue(authority, deviceKey.publicJwk, elements)
  await holder.storeMdoc(issued.encodedForOid4Vci, deviceKey)
  for (const profile of ['1.0', 'haip']) {
    const environment = { IDGATE_PROFILES: profile, IDGATE_DC_API: 'multisigned' }
    const options = { test: true, requestMode: 'jar', environment, access, origins: [SHOP] }
    gateways[profile] = await Gateway.start([issuer, authority], options)
  }
})

after(async () => {
  await holder?.stop()
  await Promise.all(Object.values(gateways).map((gateway) => gateway.stop()))
})

const ASKED = {
  pid: () => ({ id: 'pid', format: 'vc+sd-jwt', issuer_id: issuer.issuerId, claims: ['given_name'] }),
  licence: () => ({
    id: 'licence',
    format: 'mso_mdoc',
    issuer_id: authority.issuerId,
    doc_type: MDL,
    namespace: MDL_NAMESPACE,
    claims: ['family_name', 'age_over_18'],
  }),
}

/** A session, and the request of this protocol that the page of the shop passes on. */
async function passedOn(profile, protocol, ids) {
  const credentials = ids.map((id) => ASKED[id]())
  const asked = { credentials, redirect_uri: 'https://shop.example/done', dc_api: { origins: [SHOP] } }
  const session = await gateways[profile].createSession(asked)
  const request = session.dc_api.requests.find((one) => one.protocol === protocol)
  return { id: session.session_id, request }
}

for (const profile of ['1.0', 'haip']) {
  for (const protocol of [UNSIGNED, SIGNED]) {
    for (const ids of [['pid'], ['licence'], ['pid', 'licence']]) {
      test(`${profile}, ${protocol}: ${ids.join(' and ')} is VERIFIED`, async () => {
        const { id, request } = await passedOn(profile, protocol, ids)
        const reply = await gateways[profile].relay(id, await holder.answerPage(request, SHOP))
        assert.equal(reply.status, 200, JSON.stringify(reply.body))
        const result = await gateways[profile].session(id)
        assert.deepEqual(result.claims, Object.fromEntries(ids.map((name) => [name, CLAIMS[name]])))
        assert.equal(result.verification_details.origin, SHOP)
      })
    }
  }

  test(`${profile}: Credo does not read a multi-signed request`, async () => {
    const { request } = await passedOn(profile, 'openid4vp-v1-multisigned', ['pid'])
    await assert.rejects(holder.answerPage(request, SHOP))
  })

  test(`${profile}: a page from elsewhere gets nothing`, async () => {
    for (const [asked, reason] of [['pid', 'audience_mismatch'], ['licence', 'device_auth_invalid']]) {
      const signed = await passedOn(profile, SIGNED, [asked])
      await assert.rejects(holder.answerPage(signed.request, ELSEWHERE))
      const { id, request } = await passedOn(profile, UNSIGNED, [asked])
      const reply = await gateways[profile].relay(id, await holder.answerPage(request, ELSEWHERE))
      assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_presentation'])
      const result = await gateways[profile].session(id)
      assert.deepEqual([result.status, result.reason], ['FAILED', reason])
    }
  })
}
