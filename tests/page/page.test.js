// The page for people in Chromium, with wallets of third parties: what a person sees, what the browser is
// asked for, and where it ends. Where this build has no virtual wallet of its own, `navigator.credentials.get`
// is replaced by wallet libraries that answer what the page asked.
// CHROMIUM: the browser's path; without one everything here is skipped.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import test, { after, afterEach, before } from 'node:test'
import { AccessAuthority } from '../wallets/node/authority.js'
import { queries, resolve, selected, send } from '../wallets/node/dcql-wallet.js'
import { Gateway } from '../wallets/node/gateway.js'
import { Issuer } from '../wallets/node/issuer.js'
import { browserRequest, encrypt, trustRoots } from '../wallets/node/jar-wallet.js'
import { postPlain, readRequest, Wallet } from '../wallets/node/wallet.js'
import { BROWSER, browser, closeBrowsers, fits, scan, violations } from './browser.js'

const inBrowser = { skip: BROWSER ? false : 'there is no Chromium' }
const LANGUAGES = { en: 'First name', de: 'Vorname', fr: 'Prénom', es: 'Nombre', it: 'Nome' }

let issuer, wallet, credential, inline, jar, shop

before(async () => {
  if (!BROWSER) return
  const access = await AccessAuthority.create()
  trustRoots(access.rootPem)
  issuer = await Issuer.create({ issuerId: 'https://issuer.example', vct: 'urn:eudi:pid:1' })
  wallet = await Wallet.create()
  credential = await issuer.issue(wallet, { given_name: 'Erika' }, { _sd: ['given_name'] })
  const environment = { IDGATE_PAGE: 'on', IDGATE_RATE_LIMITS: 'off' }
  inline = await Gateway.start([issuer], { test: true, environment })
  const newer = { ...environment, IDGATE_PROFILES: '1.0,haip,draft', IDGATE_DC_API: 'signed' }
  jar = await Gateway.start([issuer], { test: true, requestMode: 'jar', environment: newer, access })
  shop = createServer((_, response) => response.end('<!doctype html><title>Shop</title>Welcome back'))
  await new Promise((listening) => shop.listen(0, '127.0.0.1', listening))
  shop.url = `http://127.0.0.1:${shop.address().port}/back`
})

afterEach(closeBrowsers)

after(async () => {
  shop?.close()
  shop?.closeAllConnections()
  await Promise.all([inline?.stop(), jar?.stop()])
})

/** A session with a way back to the shop. */
function begin(gateway, more = {}) {
  const credentials = [{ id: 'pid', format: 'vc+sd-jwt', issuer_id: issuer.issuerId, claims: ['given_name'] }]
  return gateway.createSession({ credentials, redirect_uri: shop.url, ...more })
}

/** The page is this browser's now: its script said so. */
const taken = (page) => page.waitForSelector('main:not([data-free])')

/** The page of a session, once its script has it. */
async function opened(session, options) {
  const page = await browser(options)
  await page.goto(session.page_url)
  await taken(page)
  return page
}

const disclosed = { given_name: true }

/** A wallet on a phone answers what it scanned. */
async function answerDraft(link, changes) {
  const request = await readRequest(link)
  return wallet.answer(request, [await wallet.present(credential, disclosed, request, changes)])
}

async function answerNewer(link) {
  const request = await resolve(link)
  const [query] = queries(request)
  return send(request, { vp_token: { [query.id]: [await wallet.present(credential, selected(query), request)] } })
}

async function decline(link) {
  return postPlain(await readRequest(link), { error: 'access_denied' })
}

/** Makes the page's browser one that passes these protocols on to a wallet. */
async function withDialogue(page, protocols, answers) {
  await page.exposeFunction('askWallet', answers)
  await page.addInitScript((passed) => {
    globalThis.DigitalCredential = class {
      static userAgentAllowsProtocol = (protocol) => passed.includes(protocol)
    }
    navigator.credentials.get = async ({ digital }) => {
      const answer = await globalThis.askWallet(JSON.stringify(digital), location.origin)
      if (!answer) throw new DOMException('cancelled', 'NotAllowedError')
      return JSON.parse(answer)
    }
  }, protocols)
}

/** A wallet behind the browser answers the request of this protocol. */
function walletBehind(protocol) {
  return async (digital, origin) => {
    const { data } = JSON.parse(digital).requests.find((request) => request.protocol === protocol)
    const request = await browserRequest(data, origin)
    const { nonce, client_metadata: metadata } = request.authorizationRequestPayload
    const [query] = queries(request)
    const binding = { aud: `origin:${origin}`, nonce }
    const token = { [query.id]: [await wallet.present(credential, selected(query), request, binding)] }
    const [enc] = metadata.encrypted_response_enc_values_supported
    return JSON.stringify({ protocol, data: { response: await encrypt(request, { vp_token: token }, enc, origin) } })
  }
}

function assertClean(page) {
  assert.deepEqual(page.seen.complaints, [])
  const hosts = [...page.seen.hosts].filter((host) => host && host !== new URL(shop.url).host)
  assert.equal(hosts.length, 1, 'only the gateway is talked to')
  assert.ok(!page.seen.texts.join('').includes('Erika'), 'a claim reached the page')
}

test('a scanned code leads to the boolean and back to the shop, and the code is the tenant’s', inBrowser, async () => {
  for (const [gateway, answer] of [[inline, answerDraft], [jar, answerNewer]]) {
    const session = await begin(gateway)
    const page = await opened(session)
    assert.ok(page.seen.bytes < 30 * 1024, `${page.seen.bytes} bytes`)
    const link = await scan(page)
    assert.equal((await answer(link)).status, 200)
    await page.waitForSelector('main[data-state=done]')
    await page.waitForURL(/\/back\?page_code=/)
    const code = new URL(page.url()).searchParams.get('page_code')
    const { status, claims, verification_details: details } = await gateway.session(session.session_id)
    assert.deepEqual([status, claims.pid.given_name], ['VERIFIED', 'Erika'])
    assert.equal(details.page_code, code)
    assertClean(page)
  }
})

test('the link on this device is the same request', inBrowser, async () => {
  const session = await begin(jar)
  const page = await opened(session, { viewport: { width: 360, height: 740 } })
  const link = await page.getAttribute('a.button', 'href')
  assert.match(link, /^openid4vp:/)
  assert.equal((await answerNewer(link)).status, 200)
  await page.waitForURL(/page_code=/)
})

test('the browser’s own dialogue leads to the boolean, signed and unsigned', inBrowser, async () => {
  for (const protocol of ['openid4vp-v1-signed', 'openid4vp-v1-unsigned']) {
    const session = await begin(jar, { profile: '1.0' })
    const page = await browser()
    await withDialogue(page, [protocol], walletBehind(protocol))
    await page.goto(session.page_url)
    await page.click('#choose')
    await page.waitForURL(/page_code=/)
    const { status, verification_details: details } = await jar.session(session.session_id)
    assert.deepEqual([status, details.origin], ['VERIFIED', jar.url])
    assertClean(page)
  }
})

test('a dialogue that was closed changes nothing, and one that browsers do not have is not shown', inBrowser, async () => {
  const session = await begin(jar, { profile: '1.0' })
  const page = await browser()
  await withDialogue(page, ['openid4vp-v1-signed'], () => '')
  await page.goto(session.page_url)
  await page.click('#choose')
  await page.waitForFunction(() => document.querySelector('#notice').textContent.startsWith('Nothing was sent'))
  assert.equal((await jar.session(session.session_id)).status, 'PENDING')
  const other = await browser()
  await withDialogue(other, [], () => '')
  const second = await begin(jar, { profile: '1.0' })
  await other.goto(second.page_url)
  await taken(other)
  assert.equal(await other.locator('#dialogue').isVisible(), false)
})

test('declined and not accepted are one outcome, with a way back and no code', inBrowser, async () => {
  for (const end of [decline, (link) => answerDraft(link, { nonce: 'of-another-session' })]) {
    const session = await begin(inline)
    const page = await opened(session)
    await end(session.qr_code_url)
    await page.waitForSelector('main[data-state=refused]')
    assert.match(await page.textContent('h1'), /Not accepted/)
    assert.equal(await page.getAttribute('#back', 'href'), shop.url)
    assertClean(page)
  }
})

test('another browser sees that the page is taken, and the first one keeps it', inBrowser, async () => {
  const session = await begin(inline)
  const first = await opened(session)
  const second = await browser()
  await second.goto(session.page_url)
  assert.match(await second.textContent('h1'), /Opened elsewhere/)
  assert.equal(await second.locator('svg, a').count(), 0)
  await first.reload()
  assert.equal(await first.locator('#qr').count(), 1)
  // Both had looked at it before one acted.
  const later = await begin(inline)
  const [one, two] = [await browser(), await browser({ javaScriptEnabled: false })]
  await two.goto(later.page_url)
  assert.equal(await two.locator('#qr').count(), 1)
  await one.goto(later.page_url)
  await taken(one)
  await two.reload()
  assert.match(await two.textContent('h1'), /Opened elsewhere/)
})

test('without its script the page works up to the link, a refresh and the way back', inBrowser, async () => {
  const session = await begin(inline)
  const page = await browser({ javaScriptEnabled: false })
  await page.goto(session.page_url)
  assert.match(await page.getAttribute('a.button', 'href'), /^openid4vp:/)
  assert.equal((await answerDraft(await scan(page))).status, 200)
  await page.click('noscript a')
  await page.getByRole('button', { name: /Back to/ }).click()
  assert.match(await page.getAttribute('#back', 'href'), /page_code=/)
  await page.click('#back')
  await page.waitForURL(/page_code=/)
})

test('ten seconds without a network are told and survived', inBrowser, async () => {
  const session = await begin(inline)
  const page = await opened(session)
  await page.context().setOffline(true)
  await page.waitForFunction(() => document.querySelector('#notice').textContent !== '', null, { timeout: 15_000 })
  const link = session.qr_code_url
  await new Promise((later) => setTimeout(later, 10_000))
  assert.equal((await answerDraft(link)).status, 200)
  await page.context().setOffline(false)
  await page.waitForURL(/page_code=/)
})

test('the code turns on the screen, and a photograph of it is soon of no use', inBrowser, async () => {
  const session = await begin(jar)
  const page = await opened(session)
  const photograph = await scan(page)
  const later = new Promise((resolve) => setTimeout(resolve, 15_500))
  await page.waitForFunction((old) => document.querySelector('a.button').href !== old, photograph)
  await later
  const { searchParams } = new URL(photograph)
  assert.equal((await fetch(searchParams.get('request_uri'))).status, 404)
  assert.equal((await answerNewer(await scan(page))).status, 200)
  await page.waitForURL(/page_code=/)
})

test('the way back is not a trap', inBrowser, async () => {
  const session = await begin(inline)
  const page = await browser()
  await page.goto(shop.url)
  await page.goto(session.page_url)
  await taken(page)
  await answerDraft(session.qr_code_url)
  await page.waitForURL(/page_code=/)
  await page.goBack()
  assert.equal(page.url(), shop.url)
})

test('every state in every language has no violation, from a phone to 4K and with text twice as large', inBrowser, async () => {
  const sizes = [[320, 640], [768, 1024], [3840, 2160]]
  for (const [locale, word] of Object.entries(LANGUAGES)) {
    const page = await browser({ locale, extraHTTPHeaders: { 'Accept-Language': locale } })
    const sessions = { open: await begin(inline), done: await begin(inline), refused: await begin(inline) }
    for (const [state, session] of Object.entries(sessions)) {
      await page.goto(session.page_url)
      await taken(page)
      if (state === 'done') await answerDraft(session.qr_code_url)
      if (state === 'refused') await decline(session.qr_code_url)
      // The way back would lead on while it is looked at.
      await page.route(`${shop.url}**`, (route) => route.abort())
      await page.waitForSelector(`main[data-state=${state}]`)
      if (state === 'open') assert.equal(await page.getByText(word, { exact: true }).count(), 1, locale)
      assert.equal(await page.getAttribute('html', 'lang'), locale)
      for (const [width, height] of sizes) {
        await page.setViewportSize({ width, height })
        assert.ok(await fits(page), `${locale} ${state} ${width}`)
      }
      // 640 pixels with everything twice as large.
      await page.setViewportSize({ width: 640, height: 900 })
      const zoom = await page.context().newCDPSession(page)
      await zoom.send('Emulation.setDeviceMetricsOverride', { width: 320, height: 450, deviceScaleFactor: 2, mobile: false })
      assert.ok(await fits(page), `${locale} ${state} at 200 %`)
      await zoom.send('Emulation.clearDeviceMetricsOverride')
      assert.deepEqual(await violations(page), [], `${locale} ${state}`)
    }
    await page.goto(`${inline.url}/v/0123456789abcdefABCDEF`)
    assert.deepEqual(await violations(page), [], `${locale} gone`)
    await closeBrowsers()
  }
})

test('by keyboard alone, with names that a screen reader says', inBrowser, async () => {
  const session = await begin(inline)
  const page = await opened(session)
  const focused = []
  for (let n = 0; n < 3; n += 1) {
    await page.keyboard.press('Tab')
    focused.push(await page.evaluate(() => document.activeElement.textContent))
  }
  assert.match(focused.join('|'), /Open the wallet on this device\|The wallet does not open\?/)
  const tree = await page.locator('main').ariaSnapshot()
  for (const name of ['heading "wallet-tests asks you to show"', 'img "QR code for your wallet"', 'timer', 'status']) {
    assert.ok(tree.includes(name), `${name}\n${tree}`)
  }
})
