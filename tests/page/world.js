// A shop, two gateways and wallets for the page tests. `inline` asks in drafts by value, `newer` by reference in every
// profile and through browsers. Tests can set the clocks of both.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import path from 'node:path'
import { Machine } from '../harness/machine.cjs'
import { eventually } from '../harness/patience.cjs'
import { AccessAuthority, Authority, generateDeviceKey } from '../wallets/node/authority.js'
import { browserTranscriptOf, definition, queries, resolve, selected, send } from '../wallets/node/dcql-wallet.js'
import { Gateway } from '../wallets/node/gateway.js'
import { answerIsoMdoc, PROTOCOL as ISO_MDOC, readIsoMdoc } from '../wallets/node/iso-mdoc.js'
import { Issuer } from '../wallets/node/issuer.js'
import { browserRequest, encrypt, trustRoots } from '../wallets/node/jar-wallet.js'
import { auth0Mdl, MDL, MDL_NAMESPACE } from '../wallets/node/mdoc.js'
import { postPlain, readRequest, Wallet } from '../wallets/node/wallet.js'
import { BROWSER, browser, everything, withoutDialogue } from './browser.js'

export { ISO_MDOC }
export const SIGNED = 'openid4vp-v1-signed'
export const UNSIGNED = 'openid4vp-v1-unsigned'
/** Claims of the wallets. Tests search for them where they must not be. */
export const PERSON = { given_name: 'Erika', family_name: 'Planted-Mustermann', birthdate: '1984-01-26' }

export class World {
  /** Gateways that single tests start. */
  others = []

  /** Starts the shop and the gateways, if there is a browser; `more`: further settings of both. */
  static async start(more = {}, isNeeded = Boolean(BROWSER)) {
    const world = new World()
    if (!isNeeded) return world
    world.access = await AccessAuthority.create()
    trustRoots(world.access.rootPem)
    world.issuer = await Issuer.create({ issuerId: 'https://issuer.example', vct: 'urn:eudi:pid:1' })
    world.stranger = await Issuer.create({ issuerId: 'https://issuer.example', vct: 'urn:eudi:pid:1' })
    world.authority = await Authority.create('https://iaca.example', 'Utopia')
    world.wallet = await Wallet.create()
    world.credential = await world.issue()
    const issuers = [world.issuer, world.authority]
    const environment = { IDGATE_PAGE: 'on', IDGATE_RATE_LIMITS: 'off', ...more }
    world.inline = await Gateway.start(issuers, { test: true, environment, machine: new Machine() })
    const newer = { ...environment, IDGATE_PROFILES: '1.0,haip,draft', IDGATE_DC_API: 'signed' }
    const options = { test: true, requestMode: 'jar', environment: newer, access: world.access }
    world.newer = await Gateway.start(issuers, { ...options, machine: new Machine() })
    world.shop = createServer((_, response) => response.end('<!doctype html><title>Shop</title>Welcome back'))
    await new Promise((listening) => world.shop.listen(0, '127.0.0.1', listening))
    world.back = `http://127.0.0.1:${world.shop.address().port}/back`
    return world
  }

  async stop() {
    this.shop?.close()
    this.shop?.closeAllConnections()
    await Promise.all([this.inline?.stop(), this.newer?.stop()])
  }

  /** A PID for the wallet, with additional `claims`. */
  issue({ issuer = this.issuer, ...claims } = {}) {
    return issuer.issue(this.wallet, { ...PERSON, ...claims }, { _sd: Object.keys(PERSON) })
  }

  /** A session with a way back to the shop, for a name or for an age. */
  begin(gateway, { licence = false, ...more } = {}) {
    const pid = { id: 'pid', format: 'vc+sd-jwt', issuer_id: this.issuer.issuerId, claims: ['given_name'] }
    const age = { doc_type: MDL, namespace: MDL_NAMESPACE, claims: ['age_over_18'] }
    const mdl = { id: 'mdl', format: 'mso_mdoc', issuer_id: this.authority.issuerId, ...age }
    const profile = gateway === this.newer && { profile: '1.0' }
    return gateway.createSession({ credentials: [licence ? mdl : pid], redirect_uri: this.back, ...profile, ...more })
  }

  /** The page of a session in a separate browser, once its script has taken it. */
  async opened(session, options) {
    const page = await browser(options)
    await page.goto(session.page_url)
    await taken(page)
    return page
  }

  /** The same in a browser without a wallet dialogue, where the page shows the code first. */
  async scanned(session) {
    const page = await browser()
    await withoutDialogue(page)
    await page.goto(session.page_url)
    await taken(page)
    return page
  }

  /** A wallet answers a scanned request of drafts. */
  async answerDraft(link, { changes, credential = this.credential } = {}) {
    const request = await readRequest(link)
    return this.wallet.answer(request, [await this.wallet.present(credential, { given_name: true }, request, changes)])
  }

  /** A wallet answers a scanned request of OpenID4VP 1.0. */
  async answerNewer(link) {
    return this.answerRequest(await resolve(link))
  }

  /** The same, with the request that `read` finds on a page. */
  async answerShown(read) {
    return this.answerRequest(await this.requestShown(read))
  }

  /**
   * The request of OpenID4VP 1.0 that `read` finds on a page. A code changes every ten seconds, so the clock is stopped
   * meanwhile. A slow page may show an expired code, and is read again.
   */
  requestShown(read) {
    const isTurned = (error) => String(error.message).includes("status code '404'")
    const resolved = async () => resolve(await read()).catch((error) => assert.ok(isTurned(error), error))
    return eventually('the code that the page shows is good', () => this.newer.still(resolved))
  }

  async answerRequest(request) {
    const [query] = queries(request)
    const presented = await this.wallet.present(this.credential, selected(query), request)
    return send(request, { vp_token: { [query.id]: [presented] } })
  }

  /** A wallet behind the browser that answers the request of this protocol. */
  behind(protocol) {
    return async ({ requests }, origin) => {
      const { data } = requests.find((request) => request.protocol === protocol)
      return { protocol, data: await (protocol === ISO_MDOC ? this.byIsoMdoc(data, origin) : this.byOpenId4Vp(data, origin)) }
    }
  }

  /** The result for a page from `origin` by ISO/IEC TS 18013-7 Annex C. */
  async byIsoMdoc(data, origin, { roots = [this.access.rootPem] } = {}) {
    const request = await readIsoMdoc(data, origin, roots)
    const deviceKey = await generateDeviceKey()
    return answerIsoMdoc(request, { peer: auth0Mdl, issued: await this.licence(deviceKey), deviceKey })
  }

  /** The result by OpenID4VP. */
  async byOpenId4Vp(data, origin) {
    const request = await browserRequest(data, origin)
    const { nonce, client_metadata: metadata } = request.authorizationRequestPayload
    const [query] = queries(request)
    const presented = query.format === 'mso_mdoc'
      ? await this.presentLicence(query, await browserTranscriptOf(request, origin))
      : await this.wallet.present(this.credential, selected(query), request, { aud: `origin:${origin}`, nonce })
    const [enc] = metadata.encrypted_response_enc_values_supported
    return { response: await encrypt(request, { vp_token: { [query.id]: [presented] } }, enc, origin) }
  }

  licence(deviceKey) {
    const { given_name, family_name } = PERSON
    const elements = { given_name, family_name, age_over_18: true, issuing_country: 'UT' }
    return auth0Mdl.issue(this.authority, deviceKey, elements)
  }

  async presentLicence(query, transcript) {
    const deviceKey = await generateDeviceKey()
    const response = await auth0Mdl.present(await this.licence(deviceKey), deviceKey, definition(query), transcript)
    return Buffer.from(response).toString('base64url')
  }

  /** Checks that there were no complaints, no requests to other hosts, and no claims. */
  async assertClean(page) {
    assert.deepEqual(page.seen.complaints, [])
    const hosts = [...page.seen.hosts].filter((host) => host && host !== new URL(this.back).host)
    assert.equal(hosts.length, 1, 'only the gateway is talked to')
    await this.assertNoClaims(page)
  }

  /** Checks that all answers of the gateway were read and have no claims. */
  async assertNoClaims(page) {
    const own = [this.inline, this.newer, ...this.others].map(({ url }) => new URL(url).origin)
    const isShared = (url) => /^\/v\/(page\.js|page\.css|icon\.svg)$/.test(new URL(url).pathname)
    const all = await everything(page, isShared, (url) => own.includes(new URL(url).origin))
    for (const value of Object.values(PERSON)) assert.ok(!all.includes(value), 'a claim reached the page')
  }
}

/** Waits until the page's script has taken the page for this browser. */
export const taken = (page) => page.waitForSelector('main:not([data-free])')

/** A wallet posts that its owner declined. */
export async function decline(link) {
  return postPlain(await readRequest(link), { error: 'access_denied' })
}

const TYPES = { '.js': 'text/javascript', '.css': 'text/css' }

/** A third-party server, under the name of another site. */
export async function elsewhere(answer) {
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', TYPES[path.extname(new URL(request.url, 'http://x').pathname)] ?? 'text/html; charset=utf-8')
    Promise.resolve(answer(request)).then((text) => response.end(text), () => response.writeHead(404).end())
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://localhost:${server.address().port}`, close }
}
