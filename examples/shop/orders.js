// Orders in memory: what the shop keeps of a verification, and when an order may be sold.

import { randomBytes, timingSafeEqual } from 'node:crypto'

/** How long an order is kept. */
const KEPT_MS = 60 * 60 * 1000
/** The ways an order can end without a sale, in words for people. idgate's codes are only for the shop. */
const WORDS = {
  young: 'we sell to adults only',
  unproven: 'we could not confirm what your wallet showed',
  declined: 'your wallet showed nothing, because you declined or because it has no fitting credential',
  unable: 'your wallet could not answer; another wallet may',
  late: 'the time was over before your wallet answered',
  ended: 'this order was ended',
}

export class Orders {
  constructor(gateway, settings) {
    this.gateway = gateway
    this.settings = settings
    this.bySecret = new Map()
    this.bySession = new Map()
  }

  /**
   * Begins an order with a session of its own. On the same device, the wallet or the gateway's page leads back to
   * the shop with a code. From another device nothing leads back, because the shop's page waits here.
   */
  async begin(onThisDevice) {
    const { issuerId, format, url, asksBrowsers, usesPage } = this.settings
    const asked = format === 'mso_mdoc' ? ['given_name', 'age_over_18'] : ['given_name', 'birthdate']
    const session = await this.gateway.createSession({
      profiles: ['1.0'],
      credentials: [{ id: 'person', format: format ?? 'vc+sd-jwt', issuer_id: issuerId, claims: asked }],
      ...((onThisDevice || usesPage) && { redirect_uri: `${url}/back` }),
      ...(asksBrowsers && !onThisDevice && { dc_api: { origins: [url] } }),
    })
    const order = {
      id: randomBytes(8).toString('hex'),
      secret: randomBytes(16).toString('base64url'),
      sessionId: session.session_id,
      qrCodeUrl: session.qr_code_url,
      link: this.gateway.link(session.session_id),
      page: usesPage && !onThisDevice ? session.page_url : undefined,
      dcApi: session.dc_api,
      // If the order ends elsewhere, this browser has to return with a code. An answer that it relays itself has
      // none.
      isItsOwn: !onThisDevice && !usesPage,
    }
    this.bySecret.set(order.secret, order)
    this.bySession.set(order.sessionId, order)
    setTimeout(() => this.forget(order), KEPT_MS).unref()
    return order
  }

  /** The order of the browser that has this cookie. */
  ofBrowser(secret) {
    return this.bySecret.get(secret)
  }

  /** Relays the credential from the page's browser, and settles the order if that decided it. */
  async relay(order, answer) {
    try {
      await this.gateway.relay(order.sessionId, answer)
      order.isItsOwn = true
    } catch (error) {
      // Refused, or not an answer. The order says which.
      if (error.status !== 400 && error.status !== 409) throw error
      console.error(`order ${order.id}: ${error.message}`)
    }
    await this.settle(order.sessionId)
  }

  /** Follows an order's session. `onEnd` is called when its outcome is known. */
  follow(order, after, { onStatus, onEnd }) {
    return this.gateway.follow(order.sessionId, after, {
      onStatus,
      onEnd: () => this.settle(order.sessionId).catch((error) => console.error(error.message)).finally(onEnd),
    })
  }

  /**
   * Reads the outcome once: at the end of the stream, at the webhook or at the redirect, whichever is first. Claims
   * can be read for 30 seconds. Keeps only what the shop needs, which does not include the birthdate.
   */
  async settle(sessionId) {
    const order = this.bySession.get(sessionId)
    if (!order || order.outcome) return
    const session = await this.gateway.session(sessionId).catch((error) => {
      // The session was deleted, so it will never be answered.
      if (error.status === 404) return { status: 'DELETED' }
      throw error
    })
    const { status, reason, wallet_error: walletError, claims, verification_details: details } = session
    if (!['VERIFIED', 'FAILED', 'EXPIRED', 'DELETED'].includes(status) || order.outcome) return
    if (status !== 'VERIFIED') console.error(`order ${order.id}: ${[status, reason, walletError].join(' ')}`)
    // VERIFIED without claims: they were read too late. The age is unknown, so the answer is no.
    const person = claims?.person
    order.outcome = {
      status,
      walletError,
      name: person?.given_name,
      adult: person?.age_over_18 === true || isAdult(person?.birthdate),
      codes: [details?.response_code, details?.page_code],
    }
  }

  /**
   * Whether one of `codes` is that of the order's answer. The returning browser is then the wallet's, or the one
   * that had the gateway's page.
   */
  async redeem(order, codes) {
    await this.settle(order.sessionId)
    const expected = order.outcome?.codes ?? []
    order.isItsOwn ||= expected.some((code, which) => equal(code, codes[which] ?? ''))
    return order.isItsOwn
  }

  /** What the page may show: a sale, a refusal, or no outcome, in words. */
  view(order) {
    const { outcome } = order
    switch (outcome?.status) {
      case 'VERIFIED':
        if (!order.isItsOwn) return { state: 'waiting' }
        return outcome.adult ? { state: 'done', name: outcome.name } : { state: 'refused', words: WORDS.young }
      case 'FAILED':
        // A wallet that presents nothing is not a failed proof. It reports access_denied if its owner can do
        // something about it.
        if (!outcome.walletError) return { state: 'refused', words: WORDS.unproven }
        return { state: 'unfinished', words: outcome.walletError === 'access_denied' ? WORDS.declined : WORDS.unable }
      case 'EXPIRED':
        return { state: 'unfinished', words: WORDS.late }
      case 'DELETED':
        return { state: 'unfinished', words: WORDS.ended }
      default:
        return { state: 'waiting' }
    }
  }

  forget(order) {
    this.bySecret.delete(order.secret)
    this.bySession.delete(order.sessionId)
  }
}

function isAdult(birthdate) {
  const today = new Date()
  const limit = new Date(Date.UTC(today.getUTCFullYear() - 18, today.getUTCMonth(), today.getUTCDate()))
  return /^\d{4}-\d\d-\d\d$/.test(birthdate) && birthdate <= limit.toISOString().slice(0, 10)
}

/** Compares in constant time. A missing value equals nothing. */
function equal(expected, given) {
  if (typeof expected !== 'string') return false
  const [a, b] = [Buffer.from(expected), Buffer.from(given)]
  return a.length === b.length && timingSafeEqual(a, b)
}
