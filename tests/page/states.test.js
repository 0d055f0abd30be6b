// Accessibility of every state of the page in every language, in Chromium: enlarged, for screen readers, and by keyboard.
// CHROMIUM as in flows.test.js. Saves pictures of each state in target/pictures. SCREENSHOTS: a folder for pictures in every
// language and size.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import test, { after, afterEach, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Machine } from '../harness/machine.cjs'
import { eventually } from '../harness/patience.cjs'
import { Gateway } from '../wallets/node/gateway.js'
import { browser, closeBrowsers, endChromium, fits, inBrowser, violations, withoutDialogue, withWallet } from './browser.js'
import { decline, taken, UNSIGNED, World } from './world.js'

const LANGUAGES = {
  en: 'First name', de: 'Vorname', fr: 'Prénom', es: 'Nombre', it: 'Nome', nl: 'Voornaam', pl: 'Imię', pt: 'Nome próprio',
}
const CANCEL = {
  en: 'Cancel', de: 'Abbrechen', fr: 'Annuler', es: 'Cancelar', it: 'Annulla', nl: 'Annuleren', pl: 'Anuluj', pt: 'Cancelar',
}
const SIZES = [[320, 640], [360, 740], [768, 1024], [1280, 800], [3840, 2160]]
const SHORTEST_TTL_MS = 60_000
const PICTURES = fileURLToPath(new URL('../../target/pictures/', import.meta.url))

let world, passing, silent

before(async () => {
  // Accepts a request for a status list and does not answer, so that the test can look at the page.
  silent = createServer(() => {})
  await new Promise((listening) => silent.listen(0, '127.0.0.1', listening))
  world = await World.start({ IDGATE_FETCH_ALLOW_CIDRS: '127.0.0.0/8' })
  if (!world.inline) return
  // A gateway whose clock moves, so that sessions expire. No wallet answers it.
  const environment = { IDGATE_PAGE: 'on', IDGATE_RATE_LIMITS: 'off' }
  passing = await Gateway.start([world.issuer, world.authority], { test: true, environment, machine: new Machine() })
  world.others.push(passing)
})

afterEach(closeBrowsers)

after(async () => {
  await endChromium()
  silent.close()
  await passing?.stop()
  await world.stop()
})

/** A page of a browser with this language. */
async function speaking(locale) {
  const page = await browser({ locale, extraHTTPHeaders: { 'Accept-Language': locale } })
  // The way back would leave the page during the test. A 204 keeps the browser where it is.
  await page.route(`${world.back}**`, (route) => route.fulfill({ status: 204 }))
  return page
}

/** Brings the page to a state, and checks it there. */
const STATES = {
  async open(page) {
    const session = await world.begin(world.inline)
    await page.goto(session.page_url)
    await taken(page)
    const first = LANGUAGES[await page.getAttribute('html', 'lang')]
    assert.equal(await page.getByText(first, { exact: true }).count(), 1)
  },
  // With a dialogue, and with the other links expanded.
  async 'open-with-dialogue'(page) {
    await withWallet(page, () => undefined)
    const session = await world.begin(world.newer)
    await page.goto(session.page_url)
    await declined(page)
  },
  async checking(page) {
    const session = await world.begin(world.inline)
    await keep(page, session.page_url, 'checking')
    await page.goto(session.page_url)
    await taken(page)
    const status = { status_list: { idx: 0, uri: `http://127.0.0.1:${silent.address().port}/list` } }
    const credential = await world.issue({ status })
    // The gateway waits for the source until the clock continues. By then the page is recorded.
    await world.inline.machine.frozen(async () => {
      world.answerDraft(session.qr_code_url, { credential }).catch(() => {})
      await page.waitForSelector('main[data-state=checking]')
    })
  },
  async done(page) {
    const session = await world.begin(world.inline)
    await page.goto(session.page_url)
    await taken(page)
    await world.answerDraft(session.qr_code_url)
  },
  async fetched(page) {
    await withoutDialogue(page)
    const session = await world.begin(world.newer)
    await page.goto(session.page_url)
    await taken(page)
    await world.requestShown(() => page.getAttribute('a.button', 'href'))
  },
  async declined(page) {
    const session = await world.begin(world.inline)
    await page.goto(session.page_url)
    await taken(page)
    await decline(session.qr_code_url)
  },
  async refused(page) {
    const session = await world.begin(world.inline)
    await page.goto(session.page_url)
    await taken(page)
    await world.answerDraft(session.qr_code_url, { credential: await world.issue({ issuer: world.stranger }) })
  },
  async taken(page) {
    const session = await world.begin(world.inline)
    await fetch(`${session.page_url}/take`, { method: 'POST', headers: { accept: 'application/json' } })
    await page.goto(session.page_url)
  },
  async cancelled(page) {
    const session = await world.begin(world.inline)
    // The form alone loads the page again, and not the script as well, which would learn of the same change.
    await page.route('**/state?*', () => undefined)
    await page.goto(session.page_url)
    await taken(page)
    await page.getByRole('button', { name: CANCEL[await page.getAttribute('html', 'lang')] }).click()
  },
  // The code for a phone, on a computer whose browser has no dialogue.
  async handover(page) {
    await withoutDialogue(page)
    await page.goto((await beginHandover()).page_url)
    await taken(page)
    await page.waitForSelector('#code[stroke-dasharray]')
    await page.click('.others summary')
  },
  // The first page on the phone.
  async asks(page) {
    const computer = await world.scanned(await beginHandover())
    // The code is good for seconds, and the checks reload the page.
    await keep(page, '**/on/*', 'asks')
    await opensCode(page, computer)
  },
  async moved(page) {
    await withoutDialogue(page)
    await page.goto((await beginHandover()).page_url)
    await taken(page)
    await takesOver(await browser(), page)
  },
  async finished(page) {
    await withoutDialogue(page)
    await page.goto((await beginHandover()).page_url)
    await taken(page)
    const phone = await browser()
    await takesOver(phone, page)
    await phone.getByRole('button', { name: CANCEL.en }).click()
  },
  async late(page) {
    const session = await beginHandover()
    await page.goto(`${session.page_url}/on/1.AAAAAAAAAAAAAAAA`)
  },
  // Made-up words, as long as the longest that are shown.
  async 'long-words'(page) {
    const long = 'x'.repeat(80)
    const credentials = [{ id: 'pid', format: 'vc+sd-jwt', issuer_id: world.issuer.issuerId, claims: [long] }]
    const session = await world.inline.createSession({ credentials, redirect_uri: world.back })
    await page.goto(session.page_url)
    await taken(page)
  },
  gone: (page) => page.goto(`${world.inline.url}/v/0123456789abcdefABCDEF`),
  async over(page) {
    const session = await world.begin(passing, { ttl_ms: SHORTEST_TTL_MS })
    passing.machine.jump(SHORTEST_TTL_MS)
    await page.goto(session.page_url)
  },
}
/** A session with handover. */
const beginHandover = () => world.begin(world.newer, { profile: 'haip', handover: true })

/** Opens the code on the computer while it is valid. */
function opensCode(phone, computer) {
  const opened = async () => {
    const { phone: address } = await computer.evaluate(async () => (await fetch(`${location.pathname}/state`)).json())
    return (await phone.goto(address)).status() === 200
  }
  return eventually('the code is opened while it is good', () => world.newer.still(opened))
}

/** Takes the page over from the computer. */
async function takesOver(phone, computer) {
  await opensCode(phone, computer)
  await phone.getByRole('button', { name: 'Continue on this phone' }).click()
  await taken(phone)
  await phone.waitForSelector('main[data-state=open]')
}

/** Brings a reloaded page back to its state. */
const AGAIN = { 'open-with-dialogue': declined }

/** The dialogue was closed, the page says so, and the other links are expanded. */
async function declined(page) {
  await page.waitForSelector('#choose')
  await page.click('#choose')
  await page.waitForFunction(() => document.querySelector('#alert').textContent !== '')
  await page.click('.others summary')
}

/** Its name on the page. */
const SHOWN = { 'open-with-dialogue': 'open', 'long-words': 'open', taken: 'none', gone: 'none', late: 'none', handover: 'open' }

const shown = (state) => SHOWN[state] ?? state

async function reached(state, page) {
  await STATES[state](page)
  await page.waitForSelector(`main[data-state=${shown(state)}]`)
}

/** Keeps a page in a short-lived state: once it is there, it receives no further updates. */
async function keep(page, url, state) {
  let kept
  await page.route(url, async (route) => {
    if (kept) return route.fulfill(kept)
    const response = await route.fetch()
    const body = await response.text()
    const answer = { status: response.status(), headers: response.headers(), body }
    if (body.includes(`data-state="${state}"`)) kept = answer
    return route.fulfill(answer)
  })
  await page.route('**/state?*', (route) => (kept ? undefined : route.continue()))
}

for (const state of Object.keys(STATES)) {
  test(`${state}: no violation in any language, from a phone to 4K, with text twice as large`, inBrowser, async () => {
    for (const locale of Object.keys(LANGUAGES)) {
      const page = await speaking(locale)
      await reached(state, page)
      assert.equal(await page.getAttribute('html', 'lang'), locale)
      if (locale === 'en') await pictures(page, state)
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height })
        assert.ok(await fits(page), `${locale} ${width}`)
        await picture(page, `${state}-${locale}-${width}`)
      }
      await page.setViewportSize({ width: 1280, height: 800 })
      // The text alone is twice as large (WCAG 2.2, 1.4.4), then everything four times (1.4.10).
      await page.evaluate(() => {
        document.documentElement.style.fontSize = '200%'
      })
      assert.ok(await fits(page), `${locale} with text twice as large`)
      await picture(page, `${state}-${locale}-text`)
      await page.setViewportSize({ width: 320, height: 256 })
      assert.ok(await fits(page), `${locale} with text twice as large on a phone`)
      await page.setViewportSize({ width: 1280, height: 800 })
      const again = () => AGAIN[state]?.(page)
      assert.deepEqual(await violations(page, again), [], locale)
      await page.emulateMedia({ colorScheme: 'dark' })
      assert.deepEqual(await violations(page, again), [], `${locale}, dark`)
      assert.equal(await page.getAttribute('main', 'data-state'), shown(state))
      await picture(page, `${state}-${locale}-dark`)
      await world.assertNoClaims(page)
      await closeBrowsers()
    }
  })
}

/** Draws the state on a computer and on a phone, light and dark. */
async function pictures(page, state) {
  mkdirSync(PICTURES, { recursive: true })
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    for (const [width, height] of [[1280, 800], [390, 844]]) {
      await page.setViewportSize({ width, height })
      await page.screenshot({ path: path.join(PICTURES, `page-${state}-${width}-${colorScheme}.png`), fullPage: true })
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
}

async function picture(page, name) {
  const folder = process.env.SCREENSHOTS
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true })
}

test('by keyboard: focus moves in order and is visible, and Enter opens the dialogue', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await browser()
  await withWallet(page, world.behind(UNSIGNED), [UNSIGNED])
  await page.goto(session.page_url)
  await page.waitForSelector('#choose')
  const reached = []
  for (let n = 0; n < 5; n += 1) {
    await page.keyboard.press('Tab')
    reached.push(await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
      const isShown = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2
      return `${document.activeElement.textContent}${isShown ? '' : ' (unseen)'}`
    }))
  }
  assert.deepEqual(reached.slice(0, 4), [
    'Choose a wallet', 'Other ways', 'Cancel', 'English',
  ])
  // Expand by keyboard, and return to the button.
  await page.locator('.others summary').focus()
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('.others a:visible').first().isVisible(), true)
  await page.locator('#choose').focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/page_code=/)
})

test('a screen reader announces the request, the client, the ways, the time and each outcome', inBrowser, async () => {
  const session = await world.begin(world.newer)
  const page = await browser()
  await withWallet(page, () => undefined)
  await page.goto(session.page_url)
  await page.waitForSelector('#choose')
  const tree = await page.locator('main').ariaSnapshot()
  let at = 0
  for (const name of [
    'heading "Example Shop asks to see your details" [level=1]',
    'button "Choose a wallet"',
    'status: Waiting for your wallet',
    'timer',
    'heading "From your identity card" [level=2]',
    'listitem: First name',
  ]) {
    assert.ok(tree.indexOf(name, at) >= at, `${name}\n${tree}`)
    at = tree.indexOf(name, at)
  }
  await page.click('#choose')
  await page.waitForFunction(() => document.querySelector('#alert').textContent !== '')
  // Announced by a live region.
  assert.match(await page.getByRole('alert').textContent(), /^No wallet answered/)
  await page.click('.others summary')
  assert.match(await page.locator('main').ariaSnapshot(), /img "QR code for your wallet app"/)
  for (const [end, said, way] of [
    ['done', 'Thank you. Taking you back to Example Shop', 'Continue to Example Shop'],
    ['declined', 'Nothing was shared', 'Back to Example Shop'],
    ['refused', 'This could not be confirmed', 'Back to Example Shop'],
    ['over', 'This request has expired', 'Back to Example Shop'],
  ]) {
    const other = await browser()
    await other.route(`${world.back}**`, (route) => route.fulfill({ status: 204 }))
    await STATES[end](other)
    await other.waitForSelector(`main[data-state=${end}]`)
    const heard = await other.locator('main').ariaSnapshot()
    assert.ok(heard.includes(`heading "${said}" [level=1]`) && heard.includes(`link "${way}"`), heard)
    assert.match(await other.title(), new RegExp(said))
  }
})

test('an unanswered page says that the time is over without a reload', inBrowser, async () => {
  const session = await world.begin(passing, { ttl_ms: SHORTEST_TTL_MS })
  // Opened in its last second, because a request that takes the whole minute is cut off.
  const page = await passing.machine.frozen(async () => {
    passing.machine.jump(SHORTEST_TTL_MS - 1000)
    return world.opened(session)
  })
  passing.machine.jump(1000)
  await page.waitForSelector('main[data-state=over]')
  assert.equal(await page.getAttribute('#back', 'href'), world.back)
  assert.equal((await passing.session(session.session_id)).status, 'EXPIRED')
  assert.equal(page.url(), session.page_url)
  await world.assertClean(page)
})
