// The page in a frame in Chromium: only on an origin of the client. CHROMIUM as in flows.test.js.

import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { Gateway } from '../wallets/node/gateway.js'
import { Issuer } from '../wallets/node/issuer.js'
import { Wallet } from '../wallets/node/wallet.js'
import { browser, closeBrowsers, endChromium, inBrowser } from './browser.js'
import { elsewhere, World } from './world.js'

const FEATURE = 'digital-credentials-get'

let world, gateway, shop, stranger, framed

before(async () => {
  if (inBrowser.skip) return
  const issuer = await Issuer.create({ issuerId: 'https://issuer.example', vct: 'urn:eudi:pid:1' })
  world = Object.assign(new World(), { issuer, wallet: await Wallet.create() })
  world.credential = await world.issue()
  const answer = () => `<!doctype html><title>Around</title>${framed}`
  shop = await elsewhere(answer)
  stranger = await elsewhere(answer)
  const environment = { IDGATE_PAGE: 'on', IDGATE_PROFILES: '1.0', IDGATE_DC_API: 'unsigned' }
  gateway = await Gateway.start([issuer], { test: true, environment, origins: [shop.url] })
})

afterEach(closeBrowsers)

after(async () => {
  await endChromium()
  shop?.close()
  stranger?.close()
  await gateway?.stop()
})

/** A browser on a page of `origin` with a frame of this address, and the content of the frame. */
async function around(origin, address, allow = '') {
  framed = `<iframe src="${address}" allow="${allow}" width="800" height="1200"></iframe>`
  const page = await browser()
  await page.goto(origin.url)
  return { page, frame: page.frames()[1] }
}

function begin() {
  const pid = { id: 'pid', format: 'vc+sd-jwt', issuer_id: world.issuer.issuerId, claims: ['given_name'] }
  return gateway.createSession({ credentials: [pid] })
}

const isTaken = (frame) => frame.waitForSelector('main:not([data-free])')

test('an origin of the client can frame the page, which stays with this browser and updates', inBrowser, async () => {
  const session = await begin()
  const { page, frame } = await around(shop, `${session.page_url}?frame`)
  await isTaken(frame)
  await page.reload()
  await isTaken(page.frames()[1])
  // Outside the frame it belongs to another browser: the frame's cookie is kept only for the shop's pages.
  const alone = await page.context().newPage()
  await alone.goto(session.page_url)
  assert.match(await alone.textContent('h1'), /open in another browser/)
  assert.equal((await world.answerNewer(session.qr_code_url)).status, 200)
  await page.frames()[1].waitForSelector('main[data-state=done]')
  assert.deepEqual(page.seen.complaints, [])
})

test('after cancelling in a frame the person stays there, and the outer page learns it from its own server', inBrowser, async () => {
  const session = await begin()
  const { page, frame } = await around(shop, `${session.page_url}?frame`)
  await isTaken(frame)
  await frame.click('form[action*="/cancel"] button')
  await page.frames()[1].waitForSelector('main[data-state=cancelled]')
  assert.equal(page.url(), `${shop.url}/`)
  assert.doesNotMatch(await page.frames()[1].textContent('main'), /Taking you back/)
  const { status, reason } = await gateway.session(session.session_id)
  assert.deepEqual([status, reason], ['FAILED', 'cancelled'])
  assert.deepEqual(page.seen.complaints, [])
})

test('the page cannot be framed by another origin, nor without the parameter for it', inBrowser, async () => {
  for (const [origin, query] of [[stranger, '?frame'], [shop, '']]) {
    const session = await begin()
    const { page, frame } = await around(origin, session.page_url + query)
    await frame.waitForLoadState().catch(() => {})
    assert.match(page.frames()[1].url(), /^chrome-error:/)
    assert.equal(await page.frames()[1].locator('main').count(), 0)
    assert.match(page.seen.complaints.join('\n'), /frame-ancestors/)
    // Nothing ran in the frame: the first browser that acts still gets the page.
    const taken = await fetch(`${session.page_url}/take`, { method: 'POST', headers: { accept: 'application/json' } })
    assert.equal(taken.status, 200)
  }
})

test('a frame has the browser’s dialogue if its page allows it, and otherwise the links', inBrowser, async (t) => {
  for (const [allow, expected] of [[FEATURE, true], ['', false]]) {
    const session = await begin()
    const { frame } = await around(shop, `${session.page_url}?frame`, allow)
    await isTaken(frame)
    const has = await frame.evaluate((feature) => {
      const policy = document.featurePolicy
      return policy.features().includes(feature) ? policy.allowsFeature(feature) : undefined
    }, FEATURE)
    if (has === undefined) return t.skip('this Chromium does not know the feature')
    assert.equal(has, expected, allow)
    assert.equal(await frame.locator('a.button[data-scheme]').count(), 1)
  }
})
