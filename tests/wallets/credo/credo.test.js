// Credo against a running gateway in test mode, in both profiles. The issuers are in the folder next to this
// one: install it first.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { Authority } from '../node/authority.js'
import { Gateway } from '../node/gateway.js'
import { Issuer } from '../node/issuer.js'
import { MDL, MDL_NAMESPACE, owfMdoc } from '../node/mdoc.js'
import { Holder } from './holder.js'

const gateways = {}
let authority, issuer, holder

before(async () => {
  authority = await Authority.create('https://iaca.example', 'Utopia')
  issuer = await Issuer.create({ issuerId: 'https://pid.example', vct: 'urn:example:pid' })
  holder = await Holder.create()
  const sdJwtKey = await holder.createKey()
  const person = { given_name: 'Erika', family_name: 'Mustermann' }
  const frame = { _sd: ['given_name', 'family_name'] }
  await holder.storeSdJwtVc(await issuer.issue(sdJwtKey, person, frame), sdJwtKey)
  const deviceKey = await holder.createKey()
  const elements = { family_name: 'Mustermann', age_over_18: true, issuing_country: 'UT' }
  const issued = await owfMdoc.issue(authority, deviceKey.publicJwk, elements)
  await holder.storeMdoc(issued.encodedForOid4Vci, deviceKey)
  for (const requestMode of ['inline', 'jar']) {
    gateways[requestMode] = await Gateway.start([issuer, authority], { test: true, requestMode })
  }
})

after(async () => {
  await holder?.stop()
  await Promise.all(Object.values(gateways).map((gateway) => gateway.stop()))
})

const pid = () => ({
  id: 'pid',
  format: 'vc+sd-jwt',
  issuer_id: issuer.issuerId,
  claims: ['given_name'],
})

const licence = () => ({
  id: 'licence',
  format: 'mso_mdoc',
  issuer_id: authority.issuerId,
  doc_type: MDL,
  namespace: MDL_NAMESPACE,
  claims: ['family_name', 'age_over_18'],
})

async function assertVerified(requestMode, credentials, claims) {
  const gateway = gateways[requestMode]
  const session = await gateway.createSession({ credentials })
  const { status, body } = await holder.answer(session.qr_code_url)
  assert.deepEqual({ status, body }, { status: 200, body: { status: 'ok' } })
  const result = await gateway.session(session.session_id)
  assert.equal(result.status, 'VERIFIED')
  assert.deepEqual(result.claims, claims)
  assert.equal(result.verification_details.request_mode, requestMode)
}

const PID_CLAIMS = { given_name: 'Erika' }
const LICENCE_CLAIMS = { family_name: 'Mustermann', age_over_18: true }

for (const mode of ['inline', 'jar']) {
  test(`${mode}: an SD-JWT VC`, async () => {
    await assertVerified(mode, [pid()], { pid: PID_CLAIMS })
  })

  test(`${mode}: an mdoc`, async () => {
    await assertVerified(mode, [licence()], { licence: LICENCE_CLAIMS })
  })

  test(`${mode}: both in one answer`, async () => {
    await assertVerified(mode, [pid(), licence()], { pid: PID_CLAIMS, licence: LICENCE_CLAIMS })
  })
}
