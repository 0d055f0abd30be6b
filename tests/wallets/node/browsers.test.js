// Requests through the browser of a page with wallet libraries against a running gateway: unsigned and
// signed, SD-JWT VC, mdoc, both, a declined request, and pages and answers that are not good.

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import test, { after, before } from 'node:test'
import * as jose from 'jose'
import { AccessAuthority, Authority, generateDeviceKey } from './authority.js'
import { definition, queries, selected } from './dcql-wallet.js'
import { Gateway } from './gateway.js'
import { Issuer } from './issuer.js'
import { browserRequest, encrypt, resolveDidWeb, trustRoots } from './jar-wallet.js'
import { browserTranscript, MDL, MDL_NAMESPACE, owfMdoc } from './mdoc.js'
import { Wallet } from './wallet.js'

const SHOP = 'https://shop.example'
const ELSEWHERE = 'https://shop.example.evil.example'
const UNSIGNED = 'openid4vp-v1-unsigned'
const SIGNED = 'openid4vp-v1-signed'
const CLAIMS = { pid: { given_name: 'Erika' }, licence: { family_name: 'Mustermann' } }

const gateways = {}
let issuer, authority, wallet, credential

before(async () => {
  const access = await AccessAuthority.create()
  trustRoots(access.rootPem)
  authority = await Authority.create('https://iaca.example', 'Utopia')
  issuer = await Issuer.create({ issuerId: 'https://pid.example', vct: 'urn:example:pid' })
  wallet = await Wallet.create()
  const person = { given_name: 'Erika', family_name: 'Mustermann' }
  credential = await issuer.issue(wallet, person, { _sd: ['given_name', 'family_name'] })
  for (const profile of ['1.0', 'haip']) {
    const environment = { IDGATE_PROFILES: profile, IDGATE_DC_API: 'multisigned' }
    const options = { test: true, requestMode: 'jar', environment, access, origins: [SHOP] }
    gateways[profile] = await Gateway.start([issuer, authority], options)
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

/** What the page of the shop passes on, by protocol. */
async function passedOn(profile, ...ids) {
  const credentials = ids.map((id) => ASKED[id]())
  const asked = { credentials, redirect_uri: 'https://shop.example/done', dc_api: { origins: [SHOP] } }
  const session = await gateways[profile].createSession(asked)
  const requests = session.dc_api.requests.map(({ protocol, data }) => [protocol, data])
  return { id: session.session_id, requests: Object.fromEntries(requests) }
}

async function presentLicence(query, parties, thumbprint) {
  const deviceKey = await generateDeviceKey()
  const elements = { family_name: 'Mustermann', given_name: 'Erika', issuing_country: 'UT' }
  const issued = await owfMdoc.issue(authority, deviceKey, elements)
  const transcript = await browserTranscript(parties, thumbprint)
  const response = await owfMdoc.present(issued, deviceKey, definition(query), transcript)
  return Buffer.from(response).toString('base64url')
}

/** The result for a page from `origin`. `nonce` replaces the nonce of the request. */
async function answer(protocol, data, { origin = SHOP, nonce } = {}) {
  const request = await browserRequest(data, origin)
  const payload = request.authorizationRequestPayload
  assert.equal(payload.response_mode, 'dc_api.jwt')
  const parties = { origin, nonce: nonce ?? payload.nonce }
  const [jwk] = payload.client_metadata.jwks.keys
  const thumbprint = jose.base64url.decode(await jose.calculateJwkThumbprint(jwk))
  const vpToken = {}
  for (const query of queries(request)) {
    const binding = { aud: `origin:${origin}`, nonce: parties.nonce }
    const presentation =
      query.format === 'mso_mdoc'
        ? await presentLicence(query, parties, thumbprint)
        : await wallet.present(credential, selected(query), request, binding)
    vpToken[query.id] = [presentation]
  }
  const [enc] = payload.client_metadata.encrypted_response_enc_values_supported
  return { protocol, data: { response: await encrypt(request, { vp_token: vpToken }, enc, origin) } }
}

async function assertRefused(profile, id, reply, reason) {
  assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_presentation'])
  const result = await gateways[profile].session(id)
  assert.deepEqual([result.status, result.reason], ['FAILED', reason])
}

for (const profile of ['1.0', 'haip']) {
  for (const protocol of [UNSIGNED, SIGNED]) {
    for (const ids of [['pid'], ['licence'], ['pid', 'licence']]) {
      test(`${profile}, ${protocol}: ${ids.join(' and ')} is VERIFIED`, async () => {
        const { id, requests } = await passedOn(profile, ...ids)
        const reply = await gateways[profile].relay(id, await answer(protocol, requests[protocol]))
        assert.equal(reply.status, 200, JSON.stringify(reply.body))
        const result = await gateways[profile].session(id)
        assert.deepEqual(result.claims, Object.fromEntries(ids.map((name) => [name, CLAIMS[name]])))
        assert.equal(result.verification_details.origin, SHOP)
      })
    }
  }

  test(`${profile}: a page from elsewhere gets nothing`, async () => {
    for (const [asked, reason] of [['pid', 'audience_mismatch'], ['licence', 'device_auth_invalid']]) {
      const { id, requests } = await passedOn(profile, asked)
      await assert.rejects(answer(SIGNED, requests[SIGNED], { origin: ELSEWHERE }), /expected_origins/)
      const copied = await answer(UNSIGNED, requests[UNSIGNED], { origin: ELSEWHERE })
      await assertRefused(profile, id, await gateways[profile].relay(id, copied), reason)
    }
  })

  test(`${profile}: an answer to another request is refused`, async () => {
    for (const [asked, reason] of [['pid', 'nonce_mismatch'], ['licence', 'device_auth_invalid']]) {
      const { id, requests } = await passedOn(profile, asked)
      const other = await answer(UNSIGNED, requests[UNSIGNED], { nonce: 'another' })
      await assertRefused(profile, id, await gateways[profile].relay(id, other), reason)
    }
  })

  test(`${profile}: a declined request is FAILED access_denied`, async () => {
    const { id } = await passedOn(profile, 'pid')
    const reply = await gateways[profile].relay(id, { protocol: SIGNED, data: { error: 'access_denied' } })
    assert.equal(reply.status, 200)
    const { status, reason, wallet_error: code } = await gateways[profile].session(id)
    assert.deepEqual([status, reason, code], ['FAILED', 'wallet_error', 'access_denied'])
  })

  test(`${profile}: jose verifies each signature of a multi-signed request`, async () => {
    const { requests } = await passedOn(profile, 'pid')
    const { request } = requests['openid4vp-v1-multisigned']
    const names = []
    for (const signature of request.signatures) {
      const key = async ({ x5c, kid }) => {
        if (x5c) return new X509Certificate(Buffer.from(x5c[0], 'base64')).publicKey
        const { verificationMethod } = await resolveDidWeb(kid.split('#')[0])
        return jose.importJWK(verificationMethod.find((one) => one.id === kid).publicKeyJwk, 'ES256')
      }
      const one = { payload: request.payload, signatures: [signature] }
      const { payload, protectedHeader } = await jose.generalVerify(one, key)
      names.push(protectedHeader.client_id.split(':')[0])
      const { expected_origins: origins, client_id: name } = JSON.parse(Buffer.from(payload))
      assert.deepEqual([origins, name], [[SHOP], undefined])
    }
    const expected = profile === 'haip' ? ['x509_hash'] : ['decentralized_identifier', 'x509_hash']
    assert.deepEqual(names, expected)
  })

  test(`${profile}: @openid4vc does not read a multi-signed request`, async () => {
    const { requests } = await passedOn(profile, 'pid')
    await assert.rejects(browserRequest(requests['openid4vp-v1-multisigned'], SHOP))
  })
}
