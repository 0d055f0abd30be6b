// The sample shop, its gateway and a third-party wallet, in a real browser.
// CHROMIUM: the path of the browser. Without it, tests that need one are skipped.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import test, { after, afterEach, before } from 'node:test'
import { startShop } from '../../examples/shop/server.js'
import { eventually, PATIENCE_MS } from '../harness/patience.cjs'
import { browser, closeBrowsers, endChromium, everything, inBrowser, scan, withoutDialogue, withWallet } from '../page/browser.js'
import { ISO_MDOC, SIGNED, UNSIGNED, World } from '../page/world.js'
import { Gateway } from '../wallets/node/gateway.js'
import { Issuer } from '../wallets/node/issuer.js'
import { queries, resolve, send } from '../wallets/node/dcql-wallet.js'
import { Wallet } from '../wallets/node/wallet.js'

const ADULT = { given_name: 'Erika', birthdate: '1984-01-26' }
const SECRET = 'whsec_a-secret-for-tests'

let issuer, wallet, gateway, server, settings

before(async () => {
  issuer = await Issuer.create({ issuerId: 'https://issuer.example', vct: 'urn:example:id' })
  wallet = await Wallet.create()
  // The shop's webhook receiver is also on loopback.
  const environment = { IDGATE_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', IDGATE_WEBHOOK_ALLOW_HTTP: 'true' }
  gateway = await Gateway.start([issuer], { test: true, environment })
  settings = {
    gatewayUrl: gateway.url, apiKey: gateway.apiKey, issuerId: issuer.issuerId, webhookSecret: SECRET, port: 0,
  }
  server = await startShop(settings)
})

afterEach(closeBrowsers)

after(async () => {
  await endChromium()
  server?.close()
  server?.closeAllConnections()
  await gateway?.stop()
})

/** Everything that a page received and requested. */
function told(page) {
  const isShared = (url) => /^\/(v\/page\.(js|css)|v\/icon\.svg|[a-z]+\.(js|css|svg|ico))?$/.test(new URL(url).pathname)
  return everything(page, isShared)
}

/** The wallet follows the link, like a phone after a scan, and answers with these claims. */
async function answer(link, claims = ADULT, changes = {}) {
  const opened = await fetch(link, { redirect: 'manual' })
  assert.equal(opened.status, 302)
  const request = await resolve(opened.headers.get('location'))
  const credential = await issuer.issue(wallet, claims, { _sd: Object.keys(claims) })
  const [query] = queries(request)
  const disclose = Object.fromEntries(Object.keys(claims).map((name) => [name, true]))
  const presentation = await wallet.present(credential, disclose, request, changes)
  return send(request, { vp_token: { [query.id]: [presentation] } })
}

/** A page that shows the code and its live status. */
async function scanning() {
  const page = await browser()
  await page.goto(settings.url)
  await page.click('#other')
  await page.waitForFunction(() => document.querySelector('#qr').naturalWidth > 100)
  await page.waitForFunction(() => document.querySelector('#status').textContent === 'Waiting for your wallet')
  return { page, link: await page.getAttribute('#link', 'href') }
}

test('a scanned code: the page follows live and thanks the customer', inBrowser, async () => {
  const { page, link } = await scanning()
  const statuses = await page.evaluateHandle(() => {
    const output = document.querySelector('#status')
    const shown = []
    new MutationObserver(() => shown.push(output.textContent)).observe(output, { childList: true })
    return shown
  })
  assert.equal((await answer(link)).status, 200)
  await page.waitForSelector('#done', { state: 'visible' })
  assert.match(await page.textContent('#done'), /Thank you, Erika/)
  const seen = await told(page)
  // The stream begins with the states until now, which have the text that the page shows from the start.
  const later = await statuses.jsonValue()
  while (later[0] === 'Waiting for your wallet') later.shift()
  assert.deepEqual(later, ['Confirmed'])
  assert.ok(!seen.includes(gateway.apiKey.slice(8)), 'the page got the API key')
  assert.ok(!seen.includes(ADULT.birthdate), 'the page got the birthdate')
  // The page requested nothing from other hosts. The code is a data: URL, which has no host.
  assert.deepEqual([...page.seen.hosts].filter(Boolean), [new URL(settings.url).host])
})

test('a customer who is too young is refused', inBrowser, async () => {
  const { page, link } = await scanning()
  await answer(link, { given_name: 'Kim', birthdate: `${new Date().getUTCFullYear() - 10}-01-01` })
  await page.waitForSelector('#refused', { state: 'visible' })
  assert.match(await page.textContent('#refused'), /adults only/)
})

test('an answer that does not verify is refused in words, and the reason stays in the shop', inBrowser, async () => {
  const { page, link } = await scanning()
  assert.equal((await answer(link, ADULT, { nonce: 'of-another-session' })).status, 400)
  await page.waitForSelector('#refused', { state: 'visible' })
  assert.match(await page.textContent('#refused'), /could not confirm/)
  assert.ok(!(await told(page)).includes('nonce_mismatch'), 'the page got the reason')
})

test('a customer whose order is deleted while the code is shown is told so', inBrowser, async () => {
  const { page, link } = await scanning()
  await remove(link)
  await page.waitForSelector('#unfinished', { state: 'visible' })
  assert.match(await page.textContent('#unfinished'), /was ended/)
})

test('the picture of the code, scanned by a second process, is the link', inBrowser, async () => {
  const { page, link } = await scanning()
  const read = await scan(page, '#qr')
  const opened = await fetch(link, { redirect: 'manual' })
  assert.equal(read, opened.headers.get('location'))
})

/** A shop with a gateway of the world and these settings, while `use` runs. */
async function inShop(world, more, use) {
  const { url: gatewayUrl, apiKey } = world.newer
  const issuerId = more.format === 'mso_mdoc' ? world.authority.issuerId : world.issuer.issuerId
  const own = { gatewayUrl, apiKey, issuerId, port: 0, ...more }
  const open = await startShop(own)
  try {
    await use(own.url)
  } finally {
    open.close()
    open.closeAllConnections()
  }
}

/** The shop's page received only the name that it shows. */
async function assertFits(page) {
  const seen = await told(page)
  for (const hidden of [ADULT.birthdate, 'age_over_18":true', 'session_id']) assert.ok(!seen.includes(hidden), hidden)
}

test('from the click to the thanks by the browser’s own dialogue, in each protocol', inBrowser, async (t) => {
  const world = await World.start()
  try {
    for (const [protocol, format] of [
      [SIGNED, 'vc+sd-jwt'], [UNSIGNED, 'vc+sd-jwt'],
      [SIGNED, 'mso_mdoc'], [UNSIGNED, 'mso_mdoc'], [ISO_MDOC, 'mso_mdoc'],
    ]) {
      await inShop(world, { format, asksBrowsers: true }, async (url) => {
        const page = await browser()
        t.diagnostic(`${protocol}, ${format}: ${await withWallet(page, world.behind(protocol), [protocol])}`)
        await page.goto(url)
        await page.click('#other')
        await page.waitForSelector('#done', { state: 'visible' })
        assert.match(await page.textContent('#done'), /Thank you, Erika/)
        await assertFits(page)
      })
    }
  } finally {
    await world.stop()
  }
})

test('the gateway’s page leads back with a code or after its dialogue, for this browser only', inBrowser, async () => {
  const world = await World.start()
  try {
    await inShop(world, { usesPage: true }, async (url) => {
      const page = await browser()
      await withoutDialogue(page)
      await page.goto(url)
      await page.click('#other')
      await page.waitForSelector('main:not([data-free]) #qr')
      assert.equal((await world.answerShown(() => scan(page))).status, 200)
      await page.waitForSelector('#done', { state: 'visible' })
      assert.match(await page.textContent('#done'), /Thank you, Erika/)
      await assertFits(page)
    })
    await inShop(world, { usesPage: true, format: 'mso_mdoc' }, async (url) => {
      const page = await browser()
      await withWallet(page, world.behind(ISO_MDOC), [ISO_MDOC])
      await page.goto(url)
      await page.click('#other')
      const back = page.waitForRequest(/page_code=/)
      await page.click('#choose')
      // Another browser with the code gets nothing.
      const other = await browser()
      await other.goto((await back).url())
      assert.match(await other.textContent('#refused'), /not the browser that began/)
      await page.waitForSelector('#done', { state: 'visible' })
    })
    await inShop(world, { usesPage: true }, async (url) => {
      const page = await browser()
      await withoutDialogue(page)
      await page.goto(url)
      await page.click('#other')
      await page.waitForSelector('main:not([data-free]) #qr')
      const request = await world.requestShown(() => scan(page))
      await send(request, { error: 'access_denied' })
      await page.click('#back')
      await page.waitForSelector('#unfinished', { state: 'visible' })
      assert.match(await page.textContent('#unfinished'), /you declined/)
    })
  } finally {
    await world.stop()
  }
})

test('on this device, only the browser that began redeems the response code', inBrowser, async () => {
  const page = await browser()
  await page.goto(settings.url)
  // No wallet is registered for openid4vp: here, so the test reads the link instead of following it.
  const began = page.waitForResponse((response) => response.url().endsWith('/orders'))
  await page.click('#this')
  const { link } = await (await began).json()
  const { body } = await answer(link)
  assert.match(body.redirect_uri, /\/back\?response_code=/)
  const other = await browser()
  await other.goto(body.redirect_uri)
  assert.match(await other.textContent('#refused'), /not the browser that began/)
  await page.goto(`${settings.url}/back?response_code=guessed`)
  assert.match(await page.textContent('#refused'), /not the browser that began/)
  await page.goto(body.redirect_uri)
  await page.waitForSelector('#done', { state: 'visible' })
  assert.match(await page.textContent('#done'), /Thank you, Erika/)
})

/** Begins an order like a page, without a browser. */
async function order() {
  const response = await fetch(`${settings.url}/orders`, { method: 'POST', headers: { origin: settings.url } })
  assert.equal(response.status, 201)
  const cookie = response.headers.get('set-cookie').split(';')[0]
  const { id, link } = await response.json()
  const view = async (headers = { cookie }) => fetch(`${settings.url}/orders/${id}`, { headers })
  return { id, cookie, link, view }
}

/** The wallet posts an error. */
async function decline(link, error) {
  const opened = await fetch(link, { redirect: 'manual' })
  const request = await resolve(opened.headers.get('location'))
  const { response_uri: url, state } = request.authorizationRequestPayload
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams({ error, state }) })
  assert.equal(response.status, 200)
}

/** Deletes the session with the shop's key. */
function remove(link) {
  return gateway.tenant('DELETE', `/v1/sessions/${link.split('/').at(-2)}`, 204)
}

/** The events of an order until their end, and the order afterwards. */
async function outcome({ id, cookie, view }) {
  const events = await fetch(`${settings.url}/orders/${id}/events`, { headers: { cookie } })
  const told = await events.text()
  assert.match(told, /event: end/)
  return { told, seen: await (await view()).json() }
}

test('a person sees declined, cannot and ended as different texts, and no codes', async () => {
  for (const [happens, words] of [
    [(link) => decline(link, 'access_denied'), /you declined/],
    [(link) => decline(link, 'vp_formats_not_supported'), /another wallet may/],
    [(link) => decline(link, 'something_else'), /another wallet may/],
    [remove, /was ended/],
  ]) {
    const begun = await order()
    await happens(begun.link)
    const { told, seen } = await outcome(begun)
    assert.deepEqual(Object.keys(seen).sort(), ['state', 'words'])
    assert.equal(seen.state, 'unfinished')
    assert.match(seen.words, words)
    assert.doesNotMatch(told + JSON.stringify(seen), /[a-z]+_[a-z]+/)
  }
})

test('a proof that fails is a refusal without its reason', async () => {
  const begun = await order()
  assert.equal((await answer(begun.link, ADULT, { nonce: 'of-another-session' })).status, 400)
  const { told, seen } = await outcome(begun)
  assert.deepEqual(seen, { state: 'refused', words: 'we could not confirm what your wallet showed' })
  assert.doesNotMatch(told, /nonce_mismatch/)
})

function notify(body, { secret = SECRET, timestamp = Date.now(), signature } = {}) {
  signature ??= createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
  const headers = { 'X-Timestamp': `${timestamp}`, 'X-Signature': signature }
  return fetch(`${settings.url}/webhooks`, { method: 'POST', headers, body })
}

test('a signed webhook settles an order whose page is closed', async () => {
  const { link, view } = await order()
  await answer(link)
  assert.deepEqual(await (await view()).json(), { state: 'waiting' })
  const sessionId = link.split('/').at(-2)
  const body = JSON.stringify({ sessionId, clientId: 'cli_x', status: 'VERIFIED', latencyMs: 5, issuerId: 'i' })
  const refused = [
    { secret: 'another' },
    { timestamp: Date.now() - 301_000 },
    // More than five minutes ahead, even if the request is slow.
    { timestamp: Date.now() + 300_000 + PATIENCE_MS },
    { signature: '' },
    { signature: 'zz' },
  ]
  for (const change of refused) assert.equal((await notify(body, change)).status, 401, JSON.stringify(change))
  assert.deepEqual(await (await view()).json(), { state: 'waiting' })
  for (const _ of ['first', 'again']) assert.equal((await notify(body)).status, 200)
  assert.deepEqual(await (await view()).json(), { state: 'done', name: 'Erika' })
})

test('an order belongs to its browser, and only the shop’s page begins one', async () => {
  const { view } = await order()
  assert.equal((await view({})).status, 404)
  assert.equal((await view({ cookie: 'order=guessed' })).status, 404)
  for (const origin of ['https://evil.example', 'null']) {
    const response = await fetch(`${settings.url}/orders`, { method: 'POST', headers: { origin } })
    assert.equal(response.status, 403)
  }
})

// This test is last: from here on the gateway sends webhooks itself.
test('the webhook of the gateway settles an order whose page is closed', async () => {
  const endpoint = await gateway.tenant('PUT', '/v1/webhook-endpoint', 200, { url: `${settings.url}/webhooks` })
  await gateway.command('webhook-host', 'approve', new URL(endpoint.url).hostname)
  settings.webhookSecret = endpoint.signing_secret
  const { link, view } = await order()
  await answer(link)
  const seen = await eventually('the order is settled', async () => {
    const now = await (await view()).json()
    return now.state !== 'waiting' && now
  })
  assert.deepEqual(seen, { state: 'done', name: 'Erika' })
})
