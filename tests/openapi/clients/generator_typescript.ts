// The flow with the TypeScript client (typescript-fetch) of openapi-generator.

import { Configuration, RequestedFormat, ResponseError, SessionsApi } from './client'
import { answered, setting } from './stdio'

async function main(): Promise<void> {
  const sessions = new SessionsApi(
    new Configuration({ basePath: setting('IDGATE_URL'), accessToken: setting('IDGATE_API_KEY') }),
  )
  const made = await sessions.createSession({
    sessionRequest: {
      credentials: [{ id: 'pid', format: RequestedFormat.VcsdJwt, issuerId: setting('ISSUER_ID'), claims: ['given_name'] }],
    },
  })
  console.log(made.qrCodeUrl)
  await answered()
  const { sessionId } = made
  const session = await sessions.readSession({ sessionId })
  const details = session.verificationDetails
  if (session.status !== 'VERIFIED' || !details) throw new Error(session.status)
  if (!(details.verifiedAt < made.expiresAt)) throw new Error('the dates are out of order')
  await sessions.deleteSession({ sessionId })
  const gone = await sessions.readSession({ sessionId }).catch((error: ResponseError) => error.response.json())
  console.log((session.claims as any).pid.given_name, gone.error)
}

main()
