// The signature of a webhook notification.

import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_MS = 5 * 60 * 1000

/**
 * Whether `X-Signature` is the HMAC-SHA256 of `<X-Timestamp>.<body>` under the endpoint's secret,
 * and made less than five minutes ago. `body`: the bytes as they came.
 */
export function verifyWebhook(headers, body, secret, now = Date.now()) {
  const timestamp = headers['x-timestamp'] ?? ''
  const given = Buffer.from(headers['x-signature'] ?? '', 'hex')
  if (!secret || !/^\d{1,15}$/.test(timestamp)) return false
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest()
  const fresh = Math.abs(now - Number(timestamp)) <= TOLERANCE_MS
  return fresh && given.length === expected.length && timingSafeEqual(given, expected)
}
