// The flow with the types of openapi-typescript, and openapi-fetch.

import createClient from 'openapi-fetch'
import type { paths } from './api'
import { answered, setting } from './stdio'

async function main(): Promise<void> {
  const headers = { Authorization: `Bearer ${setting('IDGATE_API_KEY')}` }
  const client = createClient<paths>({ baseUrl: setting('IDGATE_URL'), headers })
  const { data: made } = await client.POST('/v1/sessions', {
    body: {
      credentials: [{ id: 'pid', format: 'vc+sd-jwt', issuer_id: setting('ISSUER_ID'), claims: ['given_name'] }],
    },
  })
  if (!made) throw new Error('no session')
  console.log(made.qr_code_url)
  await answered()
  const path = { sessionId: made.session_id }
  const { data: session } = await client.GET('/v1/sessions/{sessionId}', { params: { path } })
  const verifiedAt: string | undefined = session?.verification_details?.verified_at
  if (session?.status !== 'VERIFIED' || !verifiedAt) throw new Error(`${session?.status}`)
  const { response } = await client.DELETE('/v1/sessions/{sessionId}', { params: { path } })
  if (response.status !== 204) throw new Error(`${response.status}`)
  const { error } = await client.GET('/v1/sessions/{sessionId}', { params: { path } })
  const claims = session.claims as { pid: { given_name: string } }
  console.log(claims.pid.given_name, error?.error)
}

main()
