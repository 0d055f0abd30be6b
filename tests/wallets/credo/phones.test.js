// The sandbox's samples in Credo, which checks each when it comes, stores it, and presents it to the same sandbox. Then
// the sample is withdrawn and refused.

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { Sandbox } from '../node/sandbox.js'
import { Holder } from './holder.js'

const sdJwtVc = (issuer, claim) => ({ format: 'dc+sd-jwt', issuer_id: issuer, claims: [claim] })
const mdoc = (type, namespace, claim) =>
  ({ format: 'mso_mdoc', issuer_id: 'phones', doc_type: type, namespace, claims: [claim] })
const SAMPLES = {
  pid: sdJwtVc('phones', 'given_name'),
  membership: sdJwtVc('phone-membership', 'membership_number'),
  mdl: mdoc('org.iso.18013.5.1.mDL', 'org.iso.18013.5.1', 'family_name'),
  'pid-mdoc': mdoc('eu.europa.ec.eudi.pid.1', 'eu.europa.ec.eudi.pid.1', 'family_name'),
  age: mdoc('eu.europa.ec.av.1', 'eu.europa.ec.av.1', 'age_over_18'),
}

let sandbox

before(async () => {
  sandbox = await Sandbox.start()
})

after(() => sandbox.stop())

/** A session of the same sandbox that this wallet answered. */
async function presented(holder, asked) {
  const made = await sandbox.tenant('POST', '/v1/sessions', { credentials: [asked], profile: '1.0' })
  assert.ok(made.qr_code_url, JSON.stringify(made))
  await holder.answer(made.qr_code_url)
  return sandbox.tenant('GET', `/v1/sessions/${made.session_id}`)
}

for (const [sample, asked] of Object.entries(SAMPLES)) {
  test(`${sample}: from the offer to VERIFIED, then credential_revoked`, async () => {
    const holder = await Holder.create([], { trustsIssuers: true })
    try {
      const { link, tx_code: txCode } = await sandbox.offer(sample, '--tx-code')
      const { token, records } = await holder.receive(link, { txCode })
      // The issuer announces DPoP, and Credo uses it.
      assert.equal(token.accessTokenResponse.token_type, 'DPoP')
      assert.equal(records.length, 1)
      const verified = await presented(holder, asked)
      assert.equal(verified.status, 'VERIFIED', JSON.stringify(verified))
      const { withdrawn } = await sandbox.withdraw()
      assert.ok(withdrawn >= 1)
      const revoked = await presented(holder, asked)
      assert.deepEqual([revoked.status, revoked.reason], ['FAILED', 'credential_revoked'])
    } finally {
      await holder.stop()
    }
  })
}
